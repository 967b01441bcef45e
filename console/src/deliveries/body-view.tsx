import { type ReactElement, useState } from 'react';
import { bytes, count } from '../parts/figures.ts';
import { CopyButton } from '../parts/copy-button.tsx';
import { isRedactedText } from '../parts/redacted.ts';

// A body may be a megabyte: no more of it is drawn than was asked for.
const SHOWN = 2_000;

/** A body as text; one that is no text by its length alone. Nothing of it is ever taken for markup. */
export function BodyView({
  label,
  text,
  base64,
}: {
  readonly label: string;
  readonly text: string | undefined;
  readonly base64: string | undefined;
}): ReactElement | null {
  const [isWhole, setWhole] = useState(false);
  if (base64 !== undefined && base64 !== '') {
    const length = Math.floor((base64.replace(/=+$/, '').length * 3) / 4);
    return (
      <p className="body-note">
        {label}: {bytes(length)} that are no text <CopyButton text={base64} label="Copy it in base64" word="Base64" />
      </p>
    );
  }
  if (text === undefined || text === '') return null;
  if (isRedactedText(text)) {
    return (
      <p className="body-note">
        {label}:{' '}
        <span className="redacted" title={text}>
          hidden
        </span>
      </p>
    );
  }
  const shown = indented(text);
  const rest = isWhole ? 0 : shown.length - SHOWN;
  return (
    <div className="body-view">
      <header>
        <h3>{label}</h3>
        <span className="muted">{bytes(new Blob([text]).size)}</span>
        <CopyButton text={text} label={`Copy the ${label.toLowerCase()}`} />
      </header>
      <pre tabIndex={0}>{rest > 0 ? `${shown.slice(0, SHOWN)}…` : shown}</pre>
      {rest > 0 ? (
        <button type="button" className="quiet" onClick={() => setWhole(true)}>
          {count(rest)} more characters
        </button>
      ) : null}
    </div>
  );
}

/** JSON is easier to read with its lines; everything else is left as it came. */
function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
