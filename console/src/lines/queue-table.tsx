import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { type WholeItem, wholeQuery } from '../api/delivery-queries.ts';
import { Ago } from '../parts/ago.tsx';
import { count } from '../parts/figures.ts';
import { Icon } from '../parts/icon.tsx';
import { Empty, TeachingCode } from '../parts/notice.tsx';
import { type Column, Rows } from '../parts/rows.tsx';
import { StateMark } from '../parts/state-mark.tsx';
import { WholeList } from '../parts/whole-list.tsx';
import { type Act, useActs } from '../shell/acts.tsx';
import { useRights } from '../shell/session.tsx';

type Queue = WholeItem<'delivery/queues'>;

const COLUMNS: readonly Column<Queue>[] = [
  {
    head: 'Queue',
    card: 'title',
    cell: ({ name }) => (
      <Link to="/deliveries" search={{ queue: name }}>
        <bdi>{name}</bdi>
      </Link>
    ),
  },
  { head: 'State', card: 'end', cell: ({ isPaused }) => <StateMark state={isPaused ? 'paused' : 'on'} /> },
  { head: 'At once', isFigure: true, cell: ({ parallelism }) => count(parallelism) },
  { head: 'Waiting', isFigure: true, cell: ({ lag }) => count(lag) },
  { head: 'Changed', isFigure: true, isExtra: true, cell: ({ updatedAt }) => <Ago at={updatedAt} /> },
  { head: 'Do', isActions: true, cell: (row) => <QueueActions row={row} /> },
];

const ENQUEUE = `await client.queue({ queueName: 'invoices' }).enqueueJSON({ url, body });`;

export function QueueTable(): ReactElement {
  const { canOperate } = useRights();
  return (
    <WholeList
      query={useQuery(wholeQuery('delivery/queues'))}
      empty={
        <>
          <Empty title="There is no queue yet">The first message that is put in one makes it, one at a time.</Empty>
          <TeachingCode code={ENQUEUE} />
        </>
      }
    >
      {(rows) => (
        <Rows
          label="Queues"
          columns={canOperate ? COLUMNS : COLUMNS.slice(0, -1)}
          rows={rows}
          idOf={({ name }) => name}
        />
      )}
    </WholeList>
  );
}

function acts({ name, parallelism }: Queue): Readonly<Record<'pause' | 'resume' | 'limit', Act>> {
  const body = { name };
  const paused = { path: 'delivery/queues/pause', body, done: () => `${name} is paused.` };
  const resumed = { path: 'delivery/queues/resume', body, done: () => `${name} goes on.` };
  return {
    pause: {
      ...paused,
      title: `Pause the queue ${name}?`,
      text: 'What stands in it waits, and it goes on taking messages.',
      verb: 'Pause',
      undo: resumed,
    },
    resume: {
      ...resumed,
      title: `Resume the queue ${name}?`,
      text: 'What stands in it goes on, in its order.',
      verb: 'Resume',
      undo: paused,
    },
    limit: {
      title: `How many of ${name} at once?`,
      text: 'With more than one they begin in their order, and may end in another.',
      verb: 'Set',
      fields: [{ kind: 'number', name: 'parallelism', label: 'At once', initial: parallelism, isNeeded: true }],
      path: 'delivery/queues/parallelism',
      // What is not touched is not sent.
      body: { name, parallelism },
      done: () => `${name} has a new width.`,
    },
  };
}

function QueueActions({ row }: { readonly row: Queue }): ReactElement {
  const { ask } = useActs();
  const { canAdminister } = useRights();
  const { pause, resume, limit } = acts(row);
  return (
    <span className="row-actions">
      <button type="button" onClick={() => ask(row.isPaused ? resume : pause)}>
        <Icon name={row.isPaused ? 'play' : 'pause'} /> {row.isPaused ? 'Resume' : 'Pause'}
      </button>
      {canAdminister ? (
        <button type="button" onClick={() => ask(limit)}>
          At once …
        </button>
      ) : null}
    </span>
  );
}
