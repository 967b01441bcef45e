import type { ReactElement } from 'react';
import type { Answer } from '../api/wire.ts';
import { Ago } from '../parts/ago.tsx';
import { count } from '../parts/figures.ts';
import { MessageLink } from '../parts/message-link.tsx';
import { type Column, Rows } from '../parts/rows.tsx';

type Worker = Answer<'system'>['workers'][number];

const COLUMNS: readonly Column<Worker>[] = [
  {
    head: 'Worker',
    isWide: true,
    card: 'title',
    cell: ({ name, isHousekeeper }) => (
      <>
        <bdi className="mono">{name}</bdi> {isHousekeeper ? <span className="chip">housekeeper</span> : null}
      </>
    ),
  },
  {
    head: 'Service',
    cell: ({ service, generation }) => `${service}${generation === undefined ? '' : ` · generation ${generation}`}`,
  },
  { head: 'Units', isFigure: true, isExtra: true, cell: ({ units }) => count(units) },
  {
    head: 'Runs',
    isWide: true,
    cell: ({ running }) =>
      running.length === 0 ? (
        <span className="muted">nothing long</span>
      ) : (
        running.map(({ messageId, handler, attempt, startedAt }) => (
          <span key={`${messageId} ${handler}`} className="block-text">
            {handler} <MessageLink id={messageId} /> attempt {attempt}, <Ago at={startedAt} />
          </span>
        ))
      ),
  },
  { head: 'Joined', isFigure: true, isExtra: true, cell: ({ joinedAt }) => <Ago at={joinedAt} /> },
  { head: 'Lease', isFigure: true, cell: ({ expiresAt }) => <Ago at={expiresAt} /> },
];

/** Live processes, and what each is known to run. */
export function WorkerTable({ workers }: { readonly workers: readonly Worker[] }): ReactElement {
  return <Rows label="Workers" columns={COLUMNS} rows={workers} idOf={({ id }) => id} />;
}
