import { type ReactElement, useState } from 'react';
import { CommandLine } from '../parts/copy-button.tsx';
import { Modal } from '../parts/modal.tsx';
import { ErrorBox } from '../parts/notice.tsx';
import type { Act, ActField } from './acts.tsx';

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
  if (field.kind === 'number') {
    const set = (text: string): void => change({ ...values, [name]: text === '' ? undefined : Number(text) });
    return (
      <label>
        {label}
        <input type="number" min={1} max={10_000} inputMode="numeric" onChange={(event) => set(event.target.value)} />
        {field.hint === undefined ? null : <small className="muted">{field.hint}</small>}
      </label>
    );
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
