import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { type WholeItem, wholeQuery } from '../api/delivery-queries.ts';
import { Delivering } from '../deliveries/delivering.tsx';
import { Ago } from '../parts/ago.tsx';
import { Icon } from '../parts/icon.tsx';
import { Empty, TeachingCode } from '../parts/notice.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { type Column, Rows } from '../parts/rows.tsx';
import { StateGlyph, StateMark } from '../parts/state-mark.tsx';
import { WholeList } from '../parts/whole-list.tsx';
import { useActs } from '../shell/acts.tsx';
import { useRights } from '../shell/session.tsx';
import { deleteScheduleAct, pauseScheduleAct, resumeScheduleAct } from './schedule-acts.ts';

type Schedule = WholeItem<'delivery/schedules'>;

const COLUMNS: readonly Column<Schedule>[] = [
  {
    head: 'Schedule',
    card: 'title',
    cell: ({ scheduleId }) => (
      <Link to="/deliveries" search={{ scheduleId }} title={scheduleId}>
        <bdi>{scheduleId}</bdi>
      </Link>
    ),
  },
  { head: 'State', card: 'end', cell: ({ isPaused }) => <StateMark state={isPaused ? 'paused' : 'on'} /> },
  { head: 'Cron', cell: ({ cron }) => <code>{cron}</code> },
  { head: 'Next', isFigure: true, cell: ({ nextAt, isPaused }) => <Ago at={isPaused ? undefined : nextAt} /> },
  { head: 'Last', cell: (row) => <Last row={row} /> },
  {
    head: 'Destination',
    isWide: true,
    isExtra: true,
    cell: ({ to, delivery }) => (
      <bdi className="muted">
        {delivery.method} {to.kind === 'url' ? to.url : `group ${to.name}`}
      </bdi>
    ),
  },
  { head: 'Do', isActions: true, cell: ({ scheduleId, isPaused }) => <Actions id={scheduleId} isPaused={isPaused} /> },
];

const STATES = { IN_PROGRESS: 'in_flight', SUCCESS: 'delivered', FAIL: 'failed' } as const;
const WORDS = { IN_PROGRESS: 'on its way', SUCCESS: 'delivered', FAIL: 'failed' } as const;

/** When it was published last, and what became of its messages. */
function Last({ row: { lastAt, lastStates, lastError } }: { readonly row: Schedule }): ReactElement {
  if (lastError !== undefined) return <StateMark state="failed" word={lastError} />;
  return (
    <span className="id-cell">
      {Object.entries(lastStates).map(([id, state]) => (
        <Link key={id} to="/deliveries/$id" params={{ id }} aria-label={`${WORDS[state]}: ${id}`} title={WORDS[state]}>
          <StateGlyph state={STATES[state]} />
        </Link>
      ))}
      <Ago at={lastAt} />
    </span>
  );
}

const CREATE = `await client.schedules.create({
  scheduleId: 'nightly-report', cron: 'CRON_TZ=Europe/Berlin 0 3 * * *', destination: 'https://app.example/api/report',
});`;

/** What is published again and again. */
export function SchedulesPage(): ReactElement {
  const { canOperate } = useRights();
  return (
    <Delivering title="Schedules">
      <PageHead
        title="Schedules"
        note="Published at each of their times, once over all processes and restarts; paused ones leave theirs out."
      />
      <Table columns={canOperate ? COLUMNS : COLUMNS.slice(0, -1)} />
    </Delivering>
  );
}

function Table({ columns }: { readonly columns: readonly Column<Schedule>[] }): ReactElement {
  return (
    <WholeList
      query={useQuery(wholeQuery('delivery/schedules'))}
      empty={
        <>
          <Empty title="There is no schedule yet">The client of QStash makes them; cron with time zones.</Empty>
          <TeachingCode code={CREATE} />
        </>
      }
    >
      {(rows) => <Rows label="Schedules" columns={columns} rows={rows} idOf={({ scheduleId }) => scheduleId} />}
    </WholeList>
  );
}

function Actions({ id, isPaused }: { readonly id: string; readonly isPaused: boolean }): ReactElement {
  const { ask } = useActs();
  const { canAdminister } = useRights();
  return (
    <span className="row-actions">
      <button type="button" onClick={() => ask(isPaused ? resumeScheduleAct(id) : pauseScheduleAct(id))}>
        <Icon name={isPaused ? 'play' : 'pause'} /> {isPaused ? 'Resume' : 'Pause'}
      </button>
      {canAdminister ? (
        <button type="button" onClick={() => ask(deleteScheduleAct(id))}>
          <Icon name="discard" /> Delete
        </button>
      ) : null}
    </span>
  );
}
