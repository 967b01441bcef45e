import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { Ago } from '../parts/ago.tsx';
import { count } from '../parts/figures.ts';
import { type ItemOf, ListFrame, useListed } from '../parts/listed.tsx';
import { Empty } from '../parts/notice.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { usePlace } from '../parts/place.ts';
import { type Column, Rows } from '../parts/rows.tsx';
import { SegmentLinks } from '../parts/segment-links.tsx';
import { StateMark } from '../parts/state-mark.tsx';
import { ProgressBar } from './progress-bar.tsx';

export type Bulk = ItemOf<'bulk'>;

const COLUMNS: readonly Column<Bulk>[] = [
  { head: 'State', card: 'lead', cell: ({ state }) => <StateMark state={state} /> },
  {
    head: 'What',
    isWide: true,
    card: 'title',
    cell: ({ id, verb, total, reason }) => (
      <>
        <Link to="/bulk/$id" params={{ id }}>
          {verb} {count(total)}
        </Link>{' '}
        <bdi className="muted">{reason}</bdi>
      </>
    ),
  },
  { head: 'Progress', cell: (row) => <ProgressBar bulk={row} /> },
  {
    head: 'Failed again',
    isFigure: true,
    isExtra: true,
    cell: ({ counts }) => <span className={counts.failed > 0 ? 'bad-text' : 'muted'}>{count(counts.failed)}</span>,
  },
  { head: 'By', isExtra: true, cell: ({ actor }) => <bdi>{actor}</bdi> },
  {
    head: 'Begun',
    isFigure: true,
    card: 'end',
    cell: ({ startedAt, createdAt }) => <Ago at={startedAt ?? createdAt} />,
  },
];

const STATES = [
  ['', 'All'],
  ['running', 'Running'],
  ['paused', 'Paused'],
  ['done', 'Done'],
  ['cancelled', 'Cancelled'],
  ['planned', 'Planned'],
] as const;

/** What was done to many at once. */
export function BulkListPage(): ReactElement {
  const [search] = usePlace();
  const listed = useListed('bulk', { state: search['state'] }, { isLive: true });
  return (
    <>
      <PageHead title="Bulk operations" note="Durable: they survive restarts, and touch each dead letter once." />
      <SegmentLinks label="State" name="state" value={search['state'] ?? ''} usual="" choices={STATES} />
      <ListFrame
        listed={listed}
        empty={
          <Empty title="No bulk operation yet">
            Replay or discard many <Link to="/dead-letters">dead letters</Link> at once: a group, or all that fit a
            search. Each shows its progress here, with what failed again.
          </Empty>
        }
      >
        <Rows label="Bulk operations" columns={COLUMNS} rows={listed.items} idOf={({ id }) => id} />
      </ListFrame>
    </>
  );
}
