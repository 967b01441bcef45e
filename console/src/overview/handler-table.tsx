import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import type { Answer } from '../api/wire.ts';
import { stateOfHandler } from '../handlers/handler-state.ts';
import { count, percent, rate } from '../parts/figures.ts';
import { Empty, TeachingCode } from '../parts/notice.tsx';
import { type Column, Rows } from '../parts/rows.tsx';
import { duration } from '../parts/span-of-time.ts';
import { StateMark } from '../parts/state-mark.tsx';

type HandlerOverview = Answer<'overview'>['handlers'][number];

const nameOf = ({ service, handler }: HandlerOverview): string => `${service}/${handler}`;

const COLUMNS: readonly Column<HandlerOverview>[] = [
  {
    head: 'Handler',
    isWide: true,
    card: 'title',
    cell: (row) => (
      <Link to="/handlers" search={{ handler: nameOf(row) }}>
        {nameOf(row)}
      </Link>
    ),
  },
  { head: 'State', card: 'end', cell: (row) => <StateMark state={stateOfHandler(row)} /> },
  {
    head: 'Lag',
    isFigure: true,
    cell: ({ oldestMs }) => (oldestMs === undefined ? <span className="muted">–</span> : duration(oldestMs)),
  },
  { head: 'In line', isFigure: true, cell: ({ pending }) => figure(pending) },
  { head: 'Waiting', isFigure: true, isExtra: true, cell: ({ waiting }) => figure(waiting) },
  {
    head: 'Dead',
    isFigure: true,
    cell: (row) =>
      row.failed === 0 ? (
        figure(0)
      ) : (
        <Link className="bad-text" to="/dead-letters" search={{ handler: nameOf(row) }}>
          {count(row.failed)}
        </Link>
      ),
  },
  { head: 'Done/s', isFigure: true, isExtra: true, cell: ({ donePerSecond }) => rate(donePerSecond) },
  { head: 'Errors', isFigure: true, isExtra: true, cell: ({ errorShare }) => percent(errorShare) },
  { head: 'Workers', isFigure: true, isExtra: true, cell: ({ workers }) => figure(workers.length) },
  { head: 'Limit', isFigure: true, isExtra: true, cell: ({ limit }) => limit ?? <span className="muted">–</span> },
];

function figure(value: number): ReactElement {
  return <span className={value === 0 ? 'muted' : ''}>{count(value)}</span>;
}

const REGISTER = `const hf = holdfast({ service: 'billing', store: postgres({ pool }) });
hf.on(orderPlaced, 'charge', async (order, ctx) => { … });
await hf.start();`;

/** How each handler stands. */
export function HandlerTable({ handlers }: { readonly handlers: readonly HandlerOverview[] }): ReactElement {
  if (handlers.length === 0) {
    return (
      <>
        <Empty title="No handler has registered yet">A service registers its handlers when it starts.</Empty>
        <TeachingCode code={REGISTER} />
      </>
    );
  }
  return <Rows label="Handlers" columns={COLUMNS} rows={handlers} idOf={nameOf} />;
}
