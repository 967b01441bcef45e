import { type ReactElement, useState } from 'react';
import { count } from './figures.ts';
import { CopyButton } from './copy-button.tsx';
import { isRedactedText } from './redacted.ts';

// A payload may be a megabyte: no more of it is drawn than was opened.
const SHOWN_AT_ONCE = 100;
const SHOWN_OF_TEXT = 400;

/** A JSON value as a tree. Nothing of it is ever taken for markup. */
export function PayloadTree({ value, label }: { readonly value: unknown; readonly label: string }): ReactElement {
  const text = JSON.stringify(value, null, 2) ?? 'undefined';
  const kept = keptAs(value);
  if (kept !== undefined) {
    return (
      <section className="payload" aria-label={label}>
        <header>
          <h3>{label}</h3>
        </header>
        <p className="muted">{kept}</p>
      </section>
    );
  }
  return (
    <section className="payload" aria-label={label}>
      <header>
        <h3>{label}</h3>
        <span className="muted">{count(new Blob([text]).size)} B</span>
        <CopyButton text={text} label={`Copy ${label.toLowerCase()} as JSON`} />
      </header>
      <div className="tree" tabIndex={0} role="group" aria-label={`${label} as a tree`}>
        <Node name={undefined} value={value} depth={0} />
      </div>
    </section>
  );
}

/** What is said of a payload that nobody can read here. */
function keptAs(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if ('$erased' in value) return 'Erased: nothing of it is left.';
  const { $sealed } = value as { readonly $sealed?: { readonly key?: unknown } };
  return typeof $sealed?.key === 'string'
    ? `Sealed under the key “${$sealed.key}”. A server that was given that key (HOLDFAST_SEALING_KEYS) shows it.`
    : undefined;
}

interface NodeProps {
  readonly name: string | undefined;
  readonly value: unknown;
  readonly depth: number;
}

function Node({ name, value, depth }: NodeProps): ReactElement {
  if (typeof value === 'object' && value !== null) return <Branch name={name} value={value} depth={depth} />;
  return (
    <div className="leaf">
      <Name name={name} />
      <Leaf value={value} />
    </div>
  );
}

function Branch({ name, value, depth }: NodeProps & { readonly value: object }): ReactElement {
  const isList = Array.isArray(value);
  const entries = Object.entries(value);
  const [isOpen, setOpen] = useState(depth < 3 && entries.length <= SHOWN_AT_ONCE);
  const [shown, setShown] = useState(SHOWN_AT_ONCE);
  const [before, after] = isList ? ['[', ']'] : ['{', '}'];
  if (entries.length === 0) {
    return (
      <div className="leaf">
        <Name name={name} />
        <span className="punctuation">{`${before}${after}`}</span>
      </div>
    );
  }
  return (
    <div>
      <button type="button" className="fold" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <Name name={name} />
        <span className="punctuation">{isOpen ? before : `${before} ${count(entries.length)} ${after}`}</span>
      </button>
      {isOpen ? (
        <div className="branch">
          {entries.slice(0, shown).map(([key, child]) => (
            <Node key={key} name={key} value={child} depth={depth + 1} />
          ))}
          {entries.length > shown ? (
            <button type="button" className="quiet" onClick={() => setShown(shown + SHOWN_AT_ONCE * 5)}>
              {count(entries.length - shown)} more
            </button>
          ) : null}
        </div>
      ) : null}
    </div>
  );
}

function Name({ name }: { readonly name: string | undefined }): ReactElement | null {
  return name === undefined ? null : (
    <>
      <bdi className="name">{name}</bdi>
      <span className="punctuation">: </span>
    </>
  );
}

function Leaf({ value }: { readonly value: unknown }): ReactElement {
  const [isWhole, setWhole] = useState(false);
  if (typeof value !== 'string') return <span className={`value-${typeof value}`}>{String(value)}</span>;
  if (isRedactedText(value)) return <span className="redacted">redacted</span>;
  const isLong = value.length > SHOWN_OF_TEXT && !isWhole;
  return (
    <>
      <bdi className="value-string">{JSON.stringify(isLong ? `${value.slice(0, SHOWN_OF_TEXT)}…` : value)}</bdi>
      {isLong ? (
        <button type="button" className="quiet" onClick={() => setWhole(true)}>
          {count(value.length - SHOWN_OF_TEXT)} more characters
        </button>
      ) : null}
    </>
  );
}
