import type { ReactElement } from 'react';
import { Ago } from '../parts/ago.tsx';
import { count, counted, errorLine } from '../parts/figures.ts';
import { ListFrame, useListed } from '../parts/listed.tsx';
import { Empty, TeachingCode } from '../parts/notice.tsx';
import { type Column, Rows } from '../parts/rows.tsx';
import { StateMark } from '../parts/state-mark.tsx';
import { usePlace } from '../parts/place.ts';
import { type Act, useActs } from '../shell/acts.tsx';
import { useRights } from '../shell/session.tsx';
import { type Breaker, breakerMark } from './breaker-lines.tsx';

const idOf = ({ service, name }: Breaker): string => `${service}/${name}`;

const COLUMNS: readonly Column<Breaker>[] = [
  {
    head: 'Breaker',
    card: 'title',
    cell: (row) => (
      <>
        <strong>{idOf(row)}</strong>
        {row.handlers.join() === row.name ? null : <span className="muted block-text">{row.handlers.join(', ')}</span>}
      </>
    ),
  },
  { head: 'State', card: 'end', cell: ({ state }) => <StateMark state={breakerMark(state)} /> },
  { head: 'Since', isExtra: true, cell: ({ since }) => <Ago at={since} /> },
  {
    head: 'Next probe',
    cell: ({ probeAt, state }) =>
      probeAt === undefined ? (
        <span className="muted">{state === 'open' ? 'held by hand' : '–'}</span>
      ) : (
        <Ago at={probeAt} />
      ),
  },
  { head: 'Waiting', isFigure: true, cell: ({ waiting }) => count(waiting) },
  {
    head: 'Opens after',
    isFigure: true,
    isExtra: true,
    cell: ({ failures }) => counted(failures, 'failure'),
  },
  {
    head: 'Why',
    isWide: true,
    isExtra: true,
    cell: ({ error, changed }) => (
      <bdi className="muted">
        {changed === undefined ? '' : `${changed.actor}${changed.reason === undefined ? '' : `: ${changed.reason}`} · `}
        {error === undefined ? '' : errorLine(error)}
      </bdi>
    ),
  },
  { head: 'Do', isActions: true, cell: (row) => <BreakerActions row={row} /> },
];

const DECLARE = `hf.on(orderPlaced, 'charge', charge, { breaker: { dependency: 'bank' } });`;

/** The breakers, those that are not closed first. */
export function BreakerTable(): ReactElement {
  const [search] = usePlace();
  const { canOperate } = useRights();
  const listed = useListed('breakers', {}, { isLive: true });
  return (
    <ListFrame
      listed={listed}
      empty={
        <>
          <Empty title="No breaker yet">
            A handler has a breaker once it has run. Handlers that name one dependency share one.
          </Empty>
          <TeachingCode code={DECLARE} />
        </>
      }
    >
      <Rows
        label="Breakers"
        columns={canOperate ? COLUMNS : COLUMNS.slice(0, -1)}
        rows={listed.items}
        idOf={idOf}
        current={search['breaker'] ?? search['name']}
      />
    </ListFrame>
  );
}

function acts(name: string): { readonly open: Act; readonly close: Act } {
  const opened = { path: 'breakers/open', body: { name }, done: () => `${name} is held open.` };
  const closed = { path: 'breakers/close', body: { name }, done: () => `${name} is closed: its handlers go on.` };
  return {
    open: {
      ...opened,
      title: `Hold ${name} open?`,
      text: 'Nothing is tried and no attempt is spent until it is closed by hand.',
      verb: 'Hold open',
      undo: closed,
    },
    close: {
      ...closed,
      title: `Close ${name}?`,
      text: 'Its handlers go on at once. It opens again if the failures go on.',
      verb: 'Close the breaker',
    },
  };
}

function BreakerActions({ row }: { readonly row: Breaker }): ReactElement {
  const { ask } = useActs();
  const { open, close } = acts(idOf(row));
  return row.state === 'closed' ? (
    <button type="button" onClick={() => ask(open)}>
      Hold open
    </button>
  ) : (
    <button type="button" onClick={() => ask(close)}>
      Close
    </button>
  );
}
