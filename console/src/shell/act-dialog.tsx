import { type ReactElement, useState } from 'react';
import { CommandLine } from '../parts/copy-button.tsx';
import { Modal } from '../parts/modal.tsx';
import { ErrorBox } from '../parts/notice.tsx';
import type { Act, ActField, NumberField, TextField } from './acts.tsx';

type Values = Readonly<Record<string, unknown>>;

/** Asks whether something shall be done, for what reason, and with what. */
export function ActDialog({
  act,
  close,
  perform,
}: {
  readonly act: Act;
  readonly close: () => void;
  readonly perform: (more: object) => Promise<void>;
}): ReactElement {
  const [reason, setReason] = useState('');
  const [values, setValues] = useState<Values>({});
  const [error, setError] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const submit = async (): Promise<void> => {
    setBusy(true);
    try {
      await perform({ ...values, ...(reason.trim() === '' ? {} : { reason: reason.trim() }) });
      close();
    } catch (problem) {
      setError(problem);
      setBusy(false);
    }
  };
  return (
    <Modal title={act.title} close={close}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        {act.text === undefined ? null : <div className="dialog-text">{act.text}</div>}
        {(act.fields ?? []).map((field) => (
          <Field key={field.name} field={field} values={values} change={setValues} />
        ))}
        {act.reason === 'none' ? null : <ReasonField act={act} reason={reason} change={setReason} />}
        {act.command === undefined ? null : <CommandLine command={act.command} />}
        {error === undefined ? null : <ErrorBox error={error} />}
        <footer>
          <button type="button" onClick={close}>
            Cancel
          </button>
          <button type="submit" className={act.isDanger ? 'danger' : 'primary'} disabled={isBusy}>
            {act.verb}
          </button>
        </footer>
      </form>
    </Modal>
  );
}

function ReasonField({
  act,
  reason,
  change,
}: {
  readonly act: Act;
  readonly reason: string;
  readonly change: (reason: string) => void;
}): ReactElement {
  return (
    <label>
      Reason {act.reason === 'needed' ? '' : '(optional)'}
      <input
        value={reason}
        required={act.reason === 'needed'}
        data-focus
        maxLength={500}
        placeholder="Kept in the audit, beside your name"
        onChange={(event) => change(event.target.value)}
      />
    </label>
  );
}

function Field({
  field,
  values,
  change,
}: {
  readonly field: ActField;
  readonly values: Values;
  readonly change: (values: Values) => void;
}): ReactElement {
  const { name, label } = field;
  if (field.kind === 'check') {
    return (
      <label className="check">
        <input type="checkbox" onChange={(event) => change({ ...values, [name]: event.target.checked })} /> {label}
      </label>
    );
  }
  if (field.kind === 'number' || field.kind === 'text') {
    const set = (value: unknown): void => change({ ...values, [name]: value });
    return field.kind === 'number' ? <NumberInput field={field} set={set} /> : <TextInput field={field} set={set} />;
  }
  const chosen = (values[name] as readonly string[] | undefined) ?? [];
  const toggle = (one: string): void => {
    const next = chosen.includes(one) ? chosen.filter((other) => other !== one) : [...chosen, one];
    change({ ...values, [name]: next.length === 0 ? undefined : next });
  };
  return (
    <fieldset>
      <legend>{label}</legend>
      {field.choices.map((one) => (
        <label key={one} className="check">
          <input type="checkbox" checked={chosen.includes(one)} onChange={() => toggle(one)} /> {one}
        </label>
      ))}
    </fieldset>
  );
}

function NumberInput({
  field,
  set,
}: {
  readonly field: NumberField;
  readonly set: (value: number | undefined) => void;
}): ReactElement {
  const { label, hint, initial, max = 10_000, isNeeded = false } = field;
  return (
    <label>
      {label}
      <input
        type="number"
        min={1}
        max={max}
        inputMode="numeric"
        data-focus
        required={isNeeded}
        defaultValue={initial}
        onChange={({ target: { value } }) => set(value === '' ? undefined : Number(value))}
      />
      {hint === undefined ? null : <small className="muted">{hint}</small>}
    </label>
  );
}

const asGiven = (text: string): string | undefined => (text === '' ? undefined : text);

function TextInput({
  field,
  set,
}: {
  readonly field: TextField;
  readonly set: (value: unknown) => void;
}): ReactElement {
  const { label, hint, initial, example, isNeeded = false, isLong = false, read = asGiven } = field;
  const shared = {
    // The first of them is where one begins.
    'data-focus': true,
    required: isNeeded,
    defaultValue: initial,
    placeholder: example,
    spellCheck: false,
    onChange: ({ target: { value } }: { readonly target: { readonly value: string } }) => set(read(value.trim())),
  };
  return (
    <label>
      {label}
      {isLong ? <textarea className="mono" rows={3} {...shared} /> : <input {...shared} />}
      {hint === undefined ? null : <small className="muted">{hint}</small>}
    </label>
  );
}
