import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { type WholeItem, wholeQuery } from '../api/delivery-queries.ts';
import { breakerMark } from '../breakers/breaker-lines.tsx';
import { Delivering } from '../deliveries/delivering.tsx';
import { Ago } from '../parts/ago.tsx';
import { count } from '../parts/figures.ts';
import { FilterField } from '../parts/filter-fields.tsx';
import { Empty } from '../parts/notice.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { usePlace } from '../parts/place.ts';
import { type Column, Rows } from '../parts/rows.tsx';
import { StateMark } from '../parts/state-mark.tsx';
import { WholeList } from '../parts/whole-list.tsx';
import { type Act, useActs } from '../shell/acts.tsx';
import { useRights } from '../shell/session.tsx';

type Destination = WholeItem<'delivery/destinations'>;

const COLUMNS: readonly Column<Destination>[] = [
  {
    head: 'Destination',
    card: 'title',
    cell: ({ destination }) => (
      <Link to="/deliveries" search={{ host: new URL(destination).hostname }}>
        <bdi>{destination}</bdi>
      </Link>
    ),
  },
  { head: 'Breaker', card: 'end', cell: ({ breaker }) => <StateMark state={breakerMark(breaker)} /> },
  { head: 'Next probe', cell: ({ probeAt, isHeld }) => <Probe at={probeAt} isHeld={isHeld} /> },
  { head: 'Waiting', isFigure: true, cell: ({ waiting }) => count(waiting) },
  { head: 'Failures', isFigure: true, isExtra: true, cell: ({ failures }) => count(failures) },
  { head: 'Last status', isFigure: true, isExtra: true, cell: ({ lastStatus }) => lastStatus ?? '–' },
  { head: 'Last attempt', isFigure: true, isExtra: true, cell: ({ lastAttemptAt }) => <Ago at={lastAttemptAt} /> },
  {
    head: 'Last error',
    isWide: true,
    isExtra: true,
    cell: ({ lastError }) => <bdi className="muted">{lastError ?? ''}</bdi>,
  },
  { head: 'Do', isActions: true, cell: (row) => <DestinationActions row={row} /> },
];

function Probe({ at, isHeld }: { readonly at: string | undefined; readonly isHeld: boolean }): ReactElement {
  if (at !== undefined) return <Ago at={at} />;
  return <span className="muted">{isHeld ? 'held by hand' : '–'}</span>;
}

/** Where deliveries go, and whether that answers. */
export function DestinationsPage(): ReactElement {
  return (
    <Delivering title="Destinations">
      <PageHead
        title="Destinations"
        note="One that fails again and again is left alone, then asked with one message: no attempt is spent meanwhile."
      />
      <div className="filters">
        <FilterField name="destination" label="Find a destination" isSearch />
      </div>
      <DestinationTable />
    </Delivering>
  );
}

function DestinationTable(): ReactElement {
  const [search] = usePlace();
  const { canOperate } = useRights();
  const query = useQuery(wholeQuery('delivery/destinations'));
  const wanted = (search['destination'] ?? '').toLowerCase();
  return (
    <WholeList
      query={query}
      empty={<Empty title="Nothing was sent anywhere yet">A destination is known from its first delivery on.</Empty>}
    >
      {(all) => (
        <Rows
          label="Destinations"
          columns={canOperate ? COLUMNS : COLUMNS.slice(0, -1)}
          rows={all.filter(({ destination }) => destination.toLowerCase().includes(wanted))}
          idOf={({ destination }) => destination}
        />
      )}
    </WholeList>
  );
}

function acts(destination: string): { readonly open: Act; readonly close: Act } {
  const body = { destination };
  const opened = { path: 'delivery/destinations/open', body, done: () => `${destination} is held open.` };
  const closed = { path: 'delivery/destinations/close', body, done: () => `${destination} is sent to again.` };
  return {
    open: {
      ...opened,
      title: `Send nothing to ${destination}?`,
      text: 'What is for it waits, and no attempt is spent, until it is closed by hand.',
      verb: 'Hold open',
      undo: closed,
    },
    close: {
      ...closed,
      title: `Close the breaker of ${destination}?`,
      text: 'What waits for it goes out at once. It opens again if the failures go on.',
      verb: 'Close the breaker',
    },
  };
}

function DestinationActions({ row }: { readonly row: Destination }): ReactElement {
  const { ask } = useActs();
  const { open, close } = acts(row.destination);
  const isClosed = row.breaker === 'closed' && !row.isHeld;
  return (
    <button type="button" onClick={() => ask(isClosed ? open : close)}>
      {isClosed ? 'Hold open' : 'Close'}
    </button>
  );
}
