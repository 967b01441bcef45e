import type { ReactElement } from 'react';
import { Ago } from '../parts/ago.tsx';
import { counted, errorLine } from '../parts/figures.ts';
import { PayloadTree } from '../parts/payload-tree.tsx';
import type { MessageDetail } from './message-page.tsx';

/** Each cycle of attempts that ended in failure, and the payloads before edits. */
export function FailureHistory({ message }: { readonly message: MessageDetail }): ReactElement | null {
  const cycles = message.deliveries.flatMap((one) => one.failureHistory.map((cycle) => ({ id: one.id, ...cycle })));
  if (cycles.length === 0 && message.edits.length === 0) return null;
  return (
    <section className="block" aria-label="History">
      {cycles.length === 0 ? null : (
        <>
          <h2>Failures before</h2>
          <ul className="lines">
            {cycles.map((cycle) => (
              <li key={`${cycle.id} ${cycle.cycle}`} className="tall">
                <span className="line-main">
                  <strong>
                    {cycle.handler}, cycle {cycle.cycle + 1}
                  </strong>{' '}
                  {counted(cycle.attempts, 'attempt')}
                  {cycle.error === null ? null : <bdi className="muted block-text">{errorLine(cycle.error)}</bdi>}
                  {cycle.replayedBy === null ? null : (
                    <span className="muted block-text">
                      replayed by <bdi>{cycle.replayedBy}</bdi>
                    </span>
                  )}
                </span>
                <Ago at={cycle.failedAt} />
              </li>
            ))}
          </ul>
        </>
      )}
      {message.edits.map((edit) => (
        <div key={edit.version}>
          <h2>Version {edit.version}</h2>
          <p className="muted pad">
            replaced by <bdi>{edit.actor}</bdi> <Ago at={edit.editedAt} />
            {edit.reason === undefined ? null : (
              <>
                : <bdi>{edit.reason}</bdi>
              </>
            )}
          </p>
          <PayloadTree value={edit.payload} label={`Payload, version ${edit.version}`} />
        </div>
      ))}
    </section>
  );
}
