import { type ReactElement, useEffect, useState } from 'react';
import { usePlace } from './place.ts';

/** A text that a list is chosen by; it goes to the address with Enter, or when the field is left. */
export function FilterField({
  name,
  label,
  isSearch = false,
}: {
  readonly name: string;
  readonly label: string;
  readonly isSearch?: boolean;
}): ReactElement {
  const [search, change] = usePlace();
  const meant = search[name] ?? '';
  const [text, setText] = useState(meant);
  useEffect(() => setText(meant), [meant]);
  const submit = (): void => {
    if (text.trim() !== meant) change({ [name]: text.trim() });
  };
  return (
    <input
      type="search"
      className={isSearch ? 'filter grow' : 'filter'}
      aria-label={label}
      placeholder={label}
      {...(isSearch ? { 'data-search': '' } : {})}
      value={text}
      onBlur={submit}
      onKeyDown={(event) => {
        if (event.key === 'Enter') submit();
      }}
      onChange={(event) => {
        setText(event.target.value);
        // The cross of the field.
        if (event.target.value === '') change({ [name]: undefined });
      }}
    />
  );
}

/** One of a few values that a list is chosen by. */
export function FilterSelect({
  name,
  label,
  choices,
}: {
  readonly name: string;
  readonly label: string;
  readonly choices: readonly string[];
}): ReactElement {
  const [search, change] = usePlace();
  const value = search[name] ?? '';
  return (
    <select aria-label={label} value={value} onChange={(event) => change({ [name]: event.target.value })}>
      <option value="">{label}: any</option>
      {value === '' || choices.includes(value) ? null : <option value={value}>{value}</option>}
      {choices.map((choice) => (
        <option key={choice} value={choice}>
          {choice}
        </option>
      ))}
    </select>
  );
}
