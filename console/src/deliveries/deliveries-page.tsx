import { Link, useNavigate } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { Ago } from '../parts/ago.tsx';
import { useNow } from '../parts/clock.ts';
import { FilterField } from '../parts/filter-fields.tsx';
import { ListFrame, useListed } from '../parts/listed.tsx';
import { Empty, TeachingCode } from '../parts/notice.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { usePlace } from '../parts/place.ts';
import { useRowKeys } from '../parts/row-keys.ts';
import { type Column, Rows } from '../parts/rows.tsx';
import { SegmentLinks } from '../parts/segment-links.tsx';
import { StateMark } from '../parts/state-mark.tsx';
import { useStill } from '../parts/still.ts';
import { useActs } from '../shell/acts.tsx';
import { useRights } from '../shell/session.tsx';
import { Delivering } from './delivering.tsx';
import { retryDeliveryAct } from './delivery-acts.ts';
import { type Delivery, shortUrl, stateOfDelivery } from './delivery-state.ts';
import { HoldWords } from './hold-banner.tsx';
import { type Hold, useHolds } from './holds.ts';
import { LineLink } from './line-link.tsx';

/** A delivery with what holds it. */
type Row = Delivery & { readonly hold: Hold | undefined };

const COLUMNS: readonly Column<Row>[] = [
  { head: 'State', card: 'lead', cell: (row) => <StateMark state={stateOfDelivery(row)} /> },
  {
    head: 'Destination',
    isWide: true,
    card: 'title',
    cell: ({ messageId, request }) => (
      <Link to="/deliveries/$id" params={{ id: messageId }} title={request.url}>
        <bdi>{shortUrl(request.url)}</bdi>
      </Link>
    ),
  },
  { head: 'Method', isExtra: true, cell: ({ request }) => request.method },
  { head: 'Line', isExtra: true, cell: ({ request }) => <LineLink request={request} /> },
  { head: 'Labels', isExtra: true, cell: ({ request }) => <Labels labels={request.labels} /> },
  { head: 'Attempts', isFigure: true, cell: ({ attempts, request }) => `${attempts} of ${request.retries + 1}` },
  { head: 'Next attempt', isFigure: true, cell: (row) => <NextAttempt row={row} /> },
  { head: 'Age', isFigure: true, card: 'end', cell: ({ createdAt }) => <Ago at={createdAt} /> },
];

function NextAttempt({ row: { state, nextAt, hold } }: { readonly row: Row }): ReactElement {
  const now = useNow();
  if (hold !== undefined) return <HoldWords hold={hold} />;
  if (state !== 'waiting') return <span className="muted">–</span>;
  return nextAt === undefined || Date.parse(nextAt) <= now ? <span>due now</span> : <Ago at={nextAt} />;
}

function Labels({ labels = [] }: { readonly labels?: readonly string[] | undefined }): ReactElement {
  return (
    <bdi className="muted" title={labels.join(', ')}>
      {labels.join(', ')}
    </bdi>
  );
}

const STATES = [
  ['', 'All'],
  ['waiting', 'Waiting'],
  ['delivered', 'Delivered'],
  ['failed', 'Failed'],
  ['cancelled', 'Cancelled'],
] as const;

const FILTERS = ['state', 'url', 'host', 'queue', 'label', 'flowKey', 'group', 'scheduleId'] as const;

const PUBLISH = `const client = new Client({ baseUrl: 'http://localhost:4747', token: process.env.QSTASH_TOKEN });
await client.publishJSON({ url: 'https://app.example/api/remind', body: { user: 7 }, retries: 5 });`;

/** HTTP deliveries: what is published here, and what became of it. */
export function DeliveriesPage(): ReactElement {
  return (
    <Delivering title="Deliveries">
      <PageHead title="Deliveries" note="HTTP requests that are sent until they arrive, the newest first." />
      <DeliveryList />
    </Delivering>
  );
}

function DeliveryList(): ReactElement {
  const [search] = usePlace();
  const navigate = useNavigate();
  const { canOperate } = useRights();
  const { ask } = useActs();
  const filter = Object.fromEntries(FILTERS.map((name) => [name, search[name]]));
  const [isStill, still] = useStill();
  const listed = useListed('delivery/messages', filter, { isLive: !isStill });
  const holdOf = useHolds();
  const open = (id: string): void => void navigate({ to: '/deliveries/$id', params: { id } });
  const retry = (id: string): void => {
    if (listed.items.some((row) => row.messageId === id && row.state === 'failed')) ask(retryDeliveryAct(id));
  };
  const current = useRowKeys(
    listed.items.map(({ messageId }) => messageId),
    { open, ...(canOperate ? { replay: retry } : {}) },
  );
  const isFiltered = Object.values(filter).some((value) => value !== undefined);
  return (
    <>
      <div className="filters">
        <SegmentLinks label="State" name="state" value={search['state'] ?? ''} usual="" choices={STATES} />
        <FilterField name="url" label="URL" isSearch />
        <FilterField name="queue" label="Queue" />
        <FilterField name="label" label="Label" />
        {(['host', 'flowKey', 'group', 'scheduleId'] as const).map((name) =>
          search[name] === undefined ? null : <FilterField key={name} name={name} label={MORE[name]} />,
        )}
      </div>
      <div {...still}>
        <ListFrame listed={listed} empty={<NoDelivery isFiltered={isFiltered} />}>
          <Rows
            label="Deliveries"
            columns={COLUMNS}
            rows={listed.items.map((row) => Object.assign({}, row, { hold: holdOf(row) }))}
            idOf={({ messageId }) => messageId}
            open={({ messageId }) => open(messageId)}
            current={current}
          />
        </ListFrame>
      </div>
    </>
  );
}

const MORE = { host: 'Host', flowKey: 'Flow-control key', group: 'URL group', scheduleId: 'Schedule' } as const;

function NoDelivery({ isFiltered }: { readonly isFiltered: boolean }): ReactElement {
  if (isFiltered) return <Empty title="No delivery fits">Take a filter out. URLs are compared whole.</Empty>;
  return (
    <>
      <Empty title="Nothing was published yet">
        The client of QStash publishes here as it does there. What is delivered is kept as long as the history.
      </Empty>
      <TeachingCode code={PUBLISH} />
    </>
  );
}
