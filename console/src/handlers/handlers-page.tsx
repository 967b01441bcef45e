import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { handlersQuery, statsQuery } from '../api/queries.ts';
import { Ago } from '../parts/ago.tsx';
import { count } from '../parts/figures.ts';
import { FilterField } from '../parts/filter-fields.tsx';
import { Icon } from '../parts/icon.tsx';
import { Empty, ErrorBox, Skeleton, TeachingCode } from '../parts/notice.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { usePlace } from '../parts/place.ts';
import { type Column, Rows } from '../parts/rows.tsx';
import { duration } from '../parts/span-of-time.ts';
import { StateMark } from '../parts/state-mark.tsx';
import { useActs } from '../shell/acts.tsx';
import { useIsMongodb, useRights } from '../shell/session.tsx';
import { pauseAllAct, resumeAllAct } from './handler-acts.ts';
import { HandlerActions } from './handler-actions.tsx';
import { type HandlerRow, nameOf, stateOfHandler } from './handler-state.ts';

const COLUMNS: readonly Column<HandlerRow>[] = [
  {
    head: 'Handler',
    isWide: true,
    card: 'title',
    cell: (row) => (
      <>
        <Link to="/messages" search={{ handler: nameOf(row) }}>
          {nameOf(row)}
        </Link>
        <span className="muted block-text">
          {row.types.join(', ')}
          {row.isPinned ? ' · pinned' : ''}
          {row.isRepeatable ? ' · repeatable' : ''}
        </span>
      </>
    ),
  },
  {
    head: 'State',
    card: 'end',
    cell: (row) => (
      <>
        <StateMark state={stateOfHandler(row)} />
        {row.pausedAt === undefined ? null : (
          <span className="muted block-text">
            <Ago at={row.pausedAt} />
          </span>
        )}
      </>
    ),
  },
  {
    head: 'Lag',
    isFigure: true,
    cell: ({ stats }) => (stats?.oldestMs === undefined ? '–' : duration(stats.oldestMs)),
  },
  { head: 'In line', isFigure: true, cell: ({ stats }) => count(stats?.pending ?? 0) },
  { head: 'Waiting', isFigure: true, isExtra: true, cell: ({ stats }) => count(stats?.waiting ?? 0) },
  { head: 'Dead', isFigure: true, cell: (row) => <DeadLink row={row} /> },
  { head: 'Held keys', isFigure: true, isExtra: true, cell: (row) => <KeysLink row={row} /> },
  {
    head: 'Workers',
    isFigure: true,
    isExtra: true,
    cell: ({ workers }) => <span title={workers.join('\n')}>{workers.length}</span>,
  },
  {
    head: 'Limit',
    isFigure: true,
    isExtra: true,
    cell: ({ limit }) => limit ?? <span className="muted">as coded</span>,
  },
  { head: 'Do', isActions: true, cell: (row) => <HandlerActions row={row} /> },
];

function DeadLink({ row }: { readonly row: HandlerRow }): ReactElement {
  const failed = row.stats?.failed ?? 0;
  if (failed === 0) return <span className="muted">0</span>;
  return (
    <Link className="bad-text" to="/dead-letters" search={{ handler: nameOf(row) }}>
      {count(failed)}
    </Link>
  );
}

function KeysLink({ row }: { readonly row: HandlerRow }): ReactElement {
  const held = row.stats?.heldKeys ?? 0;
  if (held === 0) return <span className="muted">0</span>;
  return (
    <Link to="/keys" search={{ handler: nameOf(row) }}>
      {count(held)}
    </Link>
  );
}

const REGISTER = `hf.on(orderPlaced, 'charge', async (order, ctx) => { … }, { concurrency: 8 });
await hf.start();`;

/** Who takes messages, and how each stands. */
export function HandlersPage(): ReactElement {
  const [search] = usePlace();
  const { canOperate } = useRights();
  const isMongodb = useIsMongodb();
  const { data, error } = useQuery(handlersQuery);
  const { data: stats } = useQuery(statsQuery);
  const wanted = (search['handler'] ?? '').toLowerCase();
  const rows = (data ?? [])
    .filter((row) => nameOf(row).toLowerCase().includes(wanted))
    .map((row) => Object.assign({}, row, { stats: stats?.handlers.find((one) => nameOf(one) === nameOf(row)) }));
  return (
    <>
      <PageHead title="Handlers">{isMongodb ? null : <PauseAll isPaused={stats?.isPaused} />}</PageHead>
      {stats?.isPaused ? (
        <p className="banner parked">
          <StateMark state="paused" /> Everything is paused: nothing is started anywhere, and sending goes on.
        </p>
      ) : null}
      <div className="filters">
        <FilterField name="handler" label="Find a handler" isSearch />
      </div>
      {data === undefined ? error === null ? <Skeleton /> : <ErrorBox error={error} /> : null}
      {data?.length === 0 ? (
        <>
          <Empty title="No handler has registered yet">A service registers its handlers when it starts.</Empty>
          <TeachingCode code={REGISTER} />
        </>
      ) : null}
      {rows.length === 0 ? null : (
        <Rows
          label="Handlers"
          columns={canOperate && !isMongodb ? COLUMNS : COLUMNS.slice(0, -1)}
          rows={rows}
          idOf={nameOf}
        />
      )}
    </>
  );
}

function PauseAll({ isPaused }: { readonly isPaused: boolean | undefined }): ReactElement | null {
  const { canAdminister } = useRights();
  const { ask } = useActs();
  if (!canAdminister || isPaused === undefined) return null;
  return (
    <button
      type="button"
      className={isPaused ? 'primary' : ''}
      onClick={() => ask(isPaused ? resumeAllAct : pauseAllAct)}
    >
      <Icon name={isPaused ? 'play' : 'pause'} /> {isPaused ? 'Resume everything' : 'Pause everything'}
    </button>
  );
}
