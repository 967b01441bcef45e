import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { type WholeItem, wholeQuery } from '../api/delivery-queries.ts';
import { Ago } from '../parts/ago.tsx';
import { count } from '../parts/figures.ts';
import { Icon } from '../parts/icon.tsx';
import { Empty, TeachingCode } from '../parts/notice.tsx';
import { type Column, Rows } from '../parts/rows.tsx';
import { duration } from '../parts/span-of-time.ts';
import { StateMark } from '../parts/state-mark.tsx';
import { WholeList } from '../parts/whole-list.tsx';
import { useActs } from '../shell/acts.tsx';
import { useRights } from '../shell/session.tsx';
import { flowActs } from './flow-acts.ts';

export type FlowKey = WholeItem<'delivery/flow-controls'>;

const COLUMNS: readonly Column<FlowKey>[] = [
  {
    head: 'Key',
    card: 'title',
    cell: ({ key }) => (
      <Link to="/deliveries" search={{ flowKey: key }}>
        <bdi>{key}</bdi>
      </Link>
    ),
  },
  { head: 'State', card: 'end', cell: ({ isPaused }) => <StateMark state={isPaused ? 'paused' : 'on'} /> },
  {
    head: 'At once',
    isFigure: true,
    cell: ({ active, parallelism, isParallelismPinned }) => (
      <Limit now={active} most={parallelism} isPinned={isParallelismPinned} />
    ),
  },
  { head: 'Rate', isFigure: true, cell: (row) => <Rate row={row} /> },
  { head: 'Waiting', isFigure: true, cell: ({ waiting }) => count(waiting) },
  { head: 'Period began', isFigure: true, isExtra: true, cell: ({ periodStart }) => <Ago at={periodStart} /> },
  { head: 'Do', isActions: true, cell: (row) => <FlowActions row={row} /> },
];

function Limit({
  now,
  most,
  isPinned,
}: {
  readonly now: number;
  readonly most: number | undefined;
  readonly isPinned: boolean;
}): ReactElement {
  return (
    <>
      {count(now)} of {most === undefined ? 'any' : count(most)}
      {isPinned ? <span className="muted"> · pinned</span> : null}
    </>
  );
}

function Rate({ row: { started, rate, periodMs, isRatePinned } }: { readonly row: FlowKey }): ReactElement {
  if (rate === undefined) return <span className="muted">any</span>;
  return (
    <>
      <Limit now={started} most={rate} isPinned={false} />{' '}
      <span className="muted">
        every {duration(periodMs ?? 1_000)}
        {isRatePinned ? ' · pinned' : ''}
      </span>
    </>
  );
}

const FLOW = `await client.publishJSON({ url, body, flowControl: { key: 'partner', parallelism: 2, rate: 10, period: '1m' } });`;

/** Each endpoint has a key too; that is dealt with on its page. */
function withoutEndpoints(all: readonly FlowKey[]): readonly FlowKey[] {
  return all.filter(({ key }) => !key.startsWith('endpoint:'));
}

export function FlowTable(): ReactElement {
  const { canOperate } = useRights();
  return (
    <WholeList
      query={useQuery({ ...wholeQuery('delivery/flow-controls'), select: withoutEndpoints })}
      empty={
        <>
          <Empty title="There is no flow-control key yet">A message that names one makes it, with its limits.</Empty>
          <TeachingCode code={FLOW} />
        </>
      }
    >
      {(rows) => (
        <Rows
          label="Flow control"
          columns={canOperate ? COLUMNS : COLUMNS.slice(0, -1)}
          rows={rows}
          idOf={({ key }) => key}
        />
      )}
    </WholeList>
  );
}

function FlowActions({ row }: { readonly row: FlowKey }): ReactElement {
  const { ask } = useActs();
  const { canAdminister } = useRights();
  const { pause, resume, pin, unpin, reset } = flowActs(row);
  return (
    <span className="row-actions">
      <button type="button" onClick={() => ask(row.isPaused ? resume : pause)}>
        <Icon name={row.isPaused ? 'play' : 'pause'} /> {row.isPaused ? 'Resume' : 'Pause'}
      </button>
      {canAdminister ? (
        <button type="button" onClick={() => ask(pin)}>
          Pin …
        </button>
      ) : null}
      {canAdminister && (row.isParallelismPinned || row.isRatePinned) ? (
        <button type="button" onClick={() => ask(unpin)}>
          Unpin
        </button>
      ) : null}
      {row.rate === undefined ? null : (
        <button type="button" onClick={() => ask(reset)}>
          Reset
        </button>
      )}
    </span>
  );
}
