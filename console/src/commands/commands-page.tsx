import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { Ago } from '../parts/ago.tsx';
import { FilterField } from '../parts/filter-fields.tsx';
import { type ItemOf, ListFrame, useListed } from '../parts/listed.tsx';
import { Empty, TeachingCode } from '../parts/notice.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { usePlace } from '../parts/place.ts';
import { type Column, Rows } from '../parts/rows.tsx';
import { StateMark } from '../parts/state-mark.tsx';
import { RunGraph } from './run-graph.tsx';

export type Command = ItemOf<'commands'>;

const COLUMNS: readonly Column<Command>[] = [
  { head: 'State', card: 'lead', cell: ({ state }) => <StateMark state={state} /> },
  {
    head: 'Command',
    card: 'title',
    cell: ({ id, name, module }) => (
      <Link to="/messages/$id" params={{ id }}>
        {name}
        {module === name ? '' : ` · ${module}`}
      </Link>
    ),
  },
  {
    head: 'Run',
    cell: ({ target }) => (
      <Link to="/commands" search={{ target }} className="mono">
        <bdi>{target}</bdi>
      </Link>
    ),
  },
  { head: 'Service', isExtra: true, cell: ({ service }) => service },
  { head: 'Attempts', isFigure: true, isExtra: true, cell: ({ attempts }) => attempts },
  { head: 'Error', isWide: true, isExtra: true, cell: ({ error }) => <bdi className="muted">{error}</bdi> },
  { head: 'Changed', isFigure: true, card: 'end', cell: ({ updatedAt }) => <Ago at={updatedAt} /> },
];

const STATES = ['idle', 'queued', 'running', 'retry_wait', 'blocked', 'dlq', 'replaying', 'done'];

const SEND = `const commands = durableCommands({ holdfast: hf, store: postgresCommands({ pool }) });
await commands.send(tx, runModule, { runId: 'run_456', moduleId: 'fetch' });`;

/** Durable commands; with a run chosen, its modules as a graph. */
export function CommandsPage(): ReactElement {
  const [search] = usePlace();
  const { target, name, state } = search;
  const listed = useListed('commands', { target, name, state }, { isLive: true });
  return (
    <>
      <PageHead title="Commands" note={target === undefined ? undefined : <bdi className="mono">{target}</bdi>} />
      <div className="filters">
        <FilterField name="target" label="Run (target)" isSearch />
        <FilterField name="name" label="Name" />
        <StateSelect />
      </div>
      {target !== undefined && listed.items.length > 0 ? <RunGraph commands={listed.items} /> : null}
      <ListFrame
        listed={listed}
        empty={
          <>
            <Empty title="No command" command="holdfast run:show <run>">
              A durable command is one piece of work for one target, done once, with its steps kept.
            </Empty>
            <TeachingCode code={SEND} />
          </>
        }
      >
        <Rows label="Commands" columns={COLUMNS} rows={listed.items} idOf={({ id }) => id} />
      </ListFrame>
    </>
  );
}

function StateSelect(): ReactElement {
  const [search, change] = usePlace();
  return (
    <select
      aria-label="State"
      value={search['state'] ?? ''}
      onChange={(event) => change({ state: event.target.value })}
    >
      <option value="">State: any</option>
      {STATES.map((state) => (
        <option key={state}>{state}</option>
      ))}
    </select>
  );
}
