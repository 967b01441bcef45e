import { type ReactElement, useState } from 'react';
import { counted } from '../parts/figures.ts';
import { Modal } from '../parts/modal.tsx';
import { ErrorBox } from '../parts/notice.tsx';
import { isRedacted } from '../parts/redacted.ts';
import { useActs } from '../shell/acts.tsx';
import { DiffView } from './diff-view.tsx';
import type { MessageDetail } from './message-page.tsx';

type Parsed = { readonly value: unknown } | { readonly problem: string };

function parsed(text: string): Parsed {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (error) {
    return { problem: (error as Error).message };
  }
}

/** Changes the payload and replays: what it was, what it will be, and why. */
export function EditSheet({
  message,
  close,
}: {
  readonly message: MessageDetail;
  readonly close: () => void;
}): ReactElement {
  const { id, payload, version } = message;
  return (
    <EditForm
      id={id}
      before={JSON.stringify(payload, null, 2)}
      version={version}
      note={isRedacted(payload) ? 'What is redacted keeps its value, unless you write another there.' : undefined}
      close={close}
    />
  );
}

function EditForm({
  id,
  before,
  version,
  note,
  close,
}: {
  readonly id: string;
  readonly before: string;
  readonly version: number;
  readonly note: string | undefined;
  readonly close: () => void;
}): ReactElement {
  const [text, setText] = useState(before);
  const [reason, setReason] = useState('');
  const [error, setError] = useState<unknown>();
  const { perform } = useActs();
  const edited = parsed(text);
  const submit = async (): Promise<void> => {
    if (!('value' in edited)) return;
    try {
      const body = { payload: edited.value, version, ...(reason === '' ? {} : { reason }) };
      await perform({ path: `messages/${encodeURIComponent(id)}/edit`, body, done: doneText });
      close();
    } catch (problem) {
      setError(problem);
    }
  };
  return (
    <Modal title="Edit and replay" close={close} kind="sheet">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <PayloadField
          label={`Payload, version ${version} → ${version + 1}`}
          text={text}
          problem={'problem' in edited ? edited.problem : undefined}
          change={setText}
        />
        <h3>What changes</h3>
        <DiffView before={before} after={'value' in edited ? JSON.stringify(edited.value, null, 2) : text} />
        <ReasonField reason={reason} change={setReason} />
        <p className="muted">The old payload is kept, and shown with the message. {note}</p>
        {error === undefined ? null : <ErrorBox error={error} />}
        <footer>
          <button type="button" onClick={close}>
            Cancel
          </button>
          <button type="submit" className="primary" disabled={'problem' in edited || text === before}>
            Save version {version + 1} and replay
          </button>
        </footer>
      </form>
    </Modal>
  );
}

function ReasonField({
  reason,
  change,
}: {
  readonly reason: string;
  readonly change: (reason: string) => void;
}): ReactElement {
  return (
    <label>
      Reason (optional)
      <input value={reason} maxLength={500} onChange={(event) => change(event.target.value)} />
    </label>
  );
}

function PayloadField({
  label,
  text,
  problem,
  change,
}: {
  readonly label: string;
  readonly text: string;
  readonly problem: string | undefined;
  readonly change: (text: string) => void;
}): ReactElement {
  return (
    <>
      <label>
        {label}
        <textarea
          className="mono"
          rows={14}
          spellCheck={false}
          value={text}
          aria-invalid={problem !== undefined}
          onChange={(event) => change(event.target.value)}
        />
      </label>
      {problem === undefined ? null : <p className="bad-text">This is not JSON: {problem}</p>}
    </>
  );
}

function doneText({ version, count }: { readonly version: number; readonly count: number }): string {
  return `Version ${version} is saved; ${counted(count, 'handler')} run${count === 1 ? 's' : ''} again.`;
}
