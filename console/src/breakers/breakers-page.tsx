import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { Ago } from '../parts/ago.tsx';
import { FilterField } from '../parts/filter-fields.tsx';
import { type ItemOf, ListFrame, useListed } from '../parts/listed.tsx';
import { Empty, TeachingCode } from '../parts/notice.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { usePlace } from '../parts/place.ts';
import { type Column, Rows } from '../parts/rows.tsx';
import { SegmentLinks } from '../parts/segment-links.tsx';
import { duration } from '../parts/span-of-time.ts';
import { StateMark } from '../parts/state-mark.tsx';
import { BreakerTable } from './breaker-table.tsx';

type Call = ItemOf<'calls'>;

const VIEWS = [
  ['breakers', 'Breakers'],
  ['calls', 'Outgoing calls'],
] as const;

/** What handlers depend on: the breakers before it, and the calls that went out. */
export function BreakersPage(): ReactElement {
  const [search] = usePlace();
  const view = search['view'] ?? 'breakers';
  return (
    <>
      <PageHead
        title="Breakers"
        note="What handlers depend on: an outage pauses and probes instead of spending attempts."
      >
        <SegmentLinks label="View" name="view" value={view} usual="breakers" choices={VIEWS} />
      </PageHead>
      {view === 'calls' ? <Calls /> : <BreakerTable />}
    </>
  );
}

const COLUMNS: readonly Column<Call>[] = [
  {
    head: 'Outcome',
    card: 'lead',
    cell: ({ isOk, status }) => (
      <StateMark
        state={isOk === undefined ? 'unknown' : isOk ? 'ok' : 'failed'}
        word={status === undefined ? undefined : String(status)}
      />
    ),
  },
  {
    head: 'Operation',
    isWide: true,
    card: 'title',
    cell: ({ operation, error }) => <OperationCell operation={operation} error={error} />,
  },
  { head: 'Destination', cell: ({ destination }) => <bdi>{destination ?? '–'}</bdi> },
  { head: 'Service', isExtra: true, cell: ({ service }) => service },
  { head: 'Attempt', isFigure: true, isExtra: true, cell: ({ attempt }) => attempt ?? '–' },
  { head: 'Took', isFigure: true, isExtra: true, cell: ({ durationMs }) => duration(durationMs) },
  {
    head: 'When',
    isFigure: true,
    card: 'end',
    cell: ({ at, id }) => (
      <Link to="/trace" search={{ id }}>
        <Ago at={at} />
      </Link>
    ),
  },
];

function OperationCell({ operation, error }: Pick<Call, 'operation' | 'error'>): ReactElement {
  return (
    <>
      <bdi>{operation}</bdi> {error === undefined ? null : <bdi className="muted">{error}</bdi>}
    </>
  );
}

const OUTCOMES = [
  ['', 'All'],
  ['false', 'Failed'],
  ['true', 'Well'],
] as const;

const RECORD = `const facts = factRecorder({ service: 'billing', pool });
const bank = serviceClient({ baseUrl: 'https://bank.internal', onAttempt: facts.call });`;

function Calls(): ReactElement {
  const [search] = usePlace();
  const { isOk, destination, service } = search;
  const listed = useListed('calls', { isOk, destination, service });
  return (
    <>
      <div className="filters">
        <SegmentLinks label="Outcome" name="isOk" value={isOk ?? ''} usual="" choices={OUTCOMES} />
        <FilterField name="destination" label="Destination" isSearch />
        <FilterField name="service" label="Service" />
      </div>
      <ListFrame
        listed={listed}
        empty={
          <>
            <Empty title="No outgoing call was recorded">
              A service that records its calls shows each attempt here, with its answer.
            </Empty>
            <TeachingCode code={RECORD} />
          </>
        }
      >
        <Rows label="Outgoing calls" columns={COLUMNS} rows={listed.items} idOf={({ id }) => id} />
      </ListFrame>
    </>
  );
}
