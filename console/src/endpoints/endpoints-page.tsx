import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { type WholeItem, wholeQuery } from '../api/delivery-queries.ts';
import { Delivering } from '../deliveries/delivering.tsx';
import { shortUrl } from '../deliveries/delivery-state.ts';
import { Ago } from '../parts/ago.tsx';
import { FilterField } from '../parts/filter-fields.tsx';
import { Empty } from '../parts/notice.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { usePlace } from '../parts/place.ts';
import { useRowKeys } from '../parts/row-keys.ts';
import { type Column, Rows } from '../parts/rows.tsx';
import { StateMark } from '../parts/state-mark.tsx';
import { WholeList } from '../parts/whole-list.tsx';
import { useActs } from '../shell/acts.tsx';
import { useRights } from '../shell/session.tsx';
import { createAct } from './endpoint-acts.ts';
import { EndpointState } from './endpoint-state.tsx';

export type Endpoint = WholeItem<'delivery/endpoints'>;

const COLUMNS: readonly Column<Endpoint>[] = [
  {
    head: 'Endpoint',
    isWide: true,
    card: 'title',
    cell: ({ id, url, description }) => (
      <>
        <Link to="/endpoints/$id" params={{ id }} title={url}>
          <bdi>{shortUrl(url)}</bdi>
        </Link>
        {description === undefined ? null : <bdi className="muted block-text">{description}</bdi>}
      </>
    ),
  },
  { head: 'State', card: 'end', cell: (row) => <EndpointState endpoint={row} /> },
  { head: 'Events', cell: ({ eventTypes }) => <EventTypes types={eventTypes} /> },
  {
    head: 'Failing',
    isExtra: true,
    cell: ({ failingSince, state }) =>
      failingSince === undefined || state === 'disabled' ? (
        <span className="muted">–</span>
      ) : (
        <>
          <StateMark state="warning" word="since" /> <Ago at={failingSince} />
        </>
      ),
  },
  { head: 'Changed', isFigure: true, isExtra: true, cell: ({ updatedAt }) => <Ago at={updatedAt} /> },
];

function EventTypes({ types }: { readonly types: readonly string[] }): ReactElement {
  if (types.length === 0) return <span className="muted">all</span>;
  return <bdi title={types.join(', ')}>{types.join(', ')}</bdi>;
}

/** Who is told of events, by Standard Webhooks. */
export function EndpointsPage(): ReactElement {
  return (
    <Delivering title="Endpoints">
      <EndpointList />
    </Delivering>
  );
}

function EndpointList(): ReactElement {
  const [search] = usePlace();
  const navigate = useNavigate();
  const { canAdminister } = useRights();
  const { ask } = useActs();
  const query = useQuery(wholeQuery('delivery/endpoints'));
  const wanted = (search['find'] ?? '').toLowerCase();
  const rows = (query.data ?? []).filter(({ url, description = '' }) =>
    `${url} ${description}`.toLowerCase().includes(wanted),
  );
  const open = (id: string): void => void navigate({ to: '/endpoints/$id', params: { id } });
  const current = useRowKeys(
    rows.map(({ id }) => id),
    { open },
  );
  return (
    <>
      <PageHead title="Endpoints" note="Addresses of customers that are told of events, each with a secret of its own.">
        {canAdminister ? (
          <button type="button" className="primary" onClick={() => ask(createAct(({ endpoint }) => open(endpoint.id)))}>
            New endpoint …
          </button>
        ) : null}
      </PageHead>
      <div className="filters">
        <FilterField name="find" label="Find an endpoint" isSearch />
      </div>
      <WholeList
        query={query}
        empty={
          <Empty title="No endpoint is registered" command="holdfast endpoints create --url https://example.com/hooks">
            Each gets events of the types it asks for, signed as Standard Webhooks says, until it has answered well.
          </Empty>
        }
      >
        {() => (
          <Rows
            label="Endpoints"
            columns={COLUMNS}
            rows={rows}
            idOf={({ id }) => id}
            open={({ id }) => open(id)}
            current={current}
          />
        )}
      </WholeList>
    </>
  );
}
