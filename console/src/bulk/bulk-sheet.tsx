import { useNavigate } from '@tanstack/react-router';
import { type ReactElement, useState } from 'react';
import { tell } from '../api/client.ts';
import type { Answer } from '../api/wire.ts';
import { count, counted } from '../parts/figures.ts';
import { Modal } from '../parts/modal.tsx';
import { ErrorBox, Skeleton } from '../parts/notice.tsx';
import { useActs } from '../shell/acts.tsx';
import { BulkPreview } from './bulk-preview.tsx';
import { type Pace, PaceFields } from './pace-fields.tsx';

export type BulkVerb = 'replay' | 'discard';
export type BulkFilter = Readonly<Record<string, unknown>>;
export type Planned = Answer<'planBulk'>;

const TITLES = { replay: 'Replay many', discard: 'Discard many' } as const;

/** From a filter to a bulk operation: what and how fast, then a frozen selection with a forecast, then its beginning. */
export function BulkSheet({
  verb,
  filter,
  expected,
  close,
}: {
  readonly verb: BulkVerb;
  readonly filter: BulkFilter;
  /** How many there were when it was asked. */
  readonly expected?: number | undefined;
  readonly close: () => void;
}): ReactElement {
  const [pace, setPace] = useState<Pace>({ canary: '', perSecond: '' });
  const [planned, setPlanned] = useState<Planned>();
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const plan = async (): Promise<void> => {
    setBusy(true);
    setError(undefined);
    try {
      setPlanned(await tell<Planned>('POST', 'bulk', { verb, filter, ...requestOf(verb, pace) }));
    } catch (problem) {
      setError(problem);
    }
    setBusy(false);
  };
  return (
    <Modal
      title={expected === undefined ? TITLES[verb] : `${TITLES[verb]}: ${counted(expected, 'dead letter')}`}
      close={close}
      kind="sheet"
    >
      {planned === undefined ? (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            void plan();
          }}
        >
          {verb === 'replay' ? <PaceFields pace={pace} change={setPace} /> : null}
          <p className="muted">The preview freezes what fits now. What fails later is not touched by it.</p>
          {isBusy ? <Skeleton rows={4} /> : null}
          {error === undefined ? null : <ErrorBox error={error} />}
          <footer>
            <button type="button" onClick={close}>
              Cancel
            </button>
            <button type="submit" className="primary" disabled={isBusy}>
              Preview
            </button>
          </footer>
        </form>
      ) : (
        <Confirm planned={planned} back={() => setPlanned(undefined)} close={close} />
      )}
    </Modal>
  );
}

function requestOf(verb: BulkVerb, { canary, perSecond }: Pace): object {
  if (verb === 'discard') return {};
  return {
    ...(canary === '' ? {} : { canary: Number(canary) }),
    ...(perSecond === '' ? {} : { perSecond: Number(perSecond) }),
  };
}

function Confirm({
  planned,
  back,
  close,
}: {
  readonly planned: Planned;
  readonly back: () => void;
  readonly close: () => void;
}): ReactElement {
  const { bulk } = planned;
  const [reason, setReason] = useState('');
  const [error, setError] = useState<unknown>();
  const { perform } = useActs();
  const navigate = useNavigate();
  const isDiscard = bulk.verb === 'discard';
  const start = async (): Promise<void> => {
    try {
      await perform({
        path: `bulk/${bulk.id}/start`,
        body: reason.trim() === '' ? {} : { reason: reason.trim() },
        done: () => `${isDiscard ? 'Discarding' : 'Replaying'} ${counted(bulk.total, 'dead letter')}.`,
      });
      close();
      void navigate({ to: '/bulk/$id', params: { id: bulk.id } });
    } catch (problem) {
      setError(problem);
    }
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void start();
      }}
    >
      <BulkPreview planned={planned} />
      <label>
        Reason {isDiscard ? '' : '(optional)'}
        <input
          value={reason}
          data-focus
          required={isDiscard}
          maxLength={500}
          placeholder="Kept in the audit, beside your name"
          onChange={(event) => setReason(event.target.value)}
        />
      </label>
      {error === undefined ? null : <ErrorBox error={error} />}
      <footer>
        <button type="button" onClick={back}>
          Back
        </button>
        <button type="submit" className={isDiscard ? 'danger' : 'primary'} disabled={bulk.total === 0}>
          {isDiscard ? 'Discard' : 'Replay'} {count(bulk.total)}
        </button>
      </footer>
    </form>
  );
}
