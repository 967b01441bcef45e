import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { Ago } from '../parts/ago.tsx';
import { CopyButton } from '../parts/copy-button.tsx';
import { shortId } from '../parts/figures.ts';
import { FilterField } from '../parts/filter-fields.tsx';
import { type ItemOf, ListFrame, useListed } from '../parts/listed.tsx';
import { Empty, TeachingCode } from '../parts/notice.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { usePlace } from '../parts/place.ts';
import { type Column, Rows } from '../parts/rows.tsx';
import { SegmentLinks } from '../parts/segment-links.tsx';
import { StateMark } from '../parts/state-mark.tsx';
import { useIsMongodb } from '../shell/session.tsx';

type Record = ItemOf<'idempotency'>;

function RecordLink({ id }: { readonly id: string }): ReactElement {
  const isMongodb = useIsMongodb();
  if (isMongodb) return <span className="mono">{shortId(id)}</span>;
  return (
    <Link to="/trace" search={{ id }} className="mono">
      {shortId(id)}
    </Link>
  );
}

const COLUMNS: readonly Column<Record>[] = [
  { head: 'Status', card: 'lead', cell: ({ status }) => <StateMark state={status} /> },
  { head: 'Domain', isWide: true, card: 'title', cell: ({ domain }) => <bdi>{domain}</bdi> },
  {
    head: 'Record',
    cell: ({ id }) => (
      <span className="id-cell">
        <RecordLink id={id} />
        <CopyButton text={id} label="Copy the id" />
      </span>
    ),
  },
  { head: 'Runs', isFigure: true, cell: ({ run }) => run },
  {
    head: 'Reply',
    isExtra: true,
    cell: ({ hasReply }) => (hasReply ? 'kept: answered again without running' : <span className="muted">none</span>),
  },
  {
    head: 'Lease',
    isExtra: true,
    cell: ({ leaseUntil, status }) =>
      status === 'processing' ? <Ago at={leaseUntil} /> : <span className="muted">–</span>,
  },
  { head: 'Changed', isFigure: true, card: 'end', cell: ({ updatedAt }) => <Ago at={updatedAt} /> },
  { head: 'Kept', isFigure: true, isExtra: true, cell: ({ expiresAt }) => <Ago at={expiresAt} /> },
];

const STATUSES = [
  ['', 'All'],
  ['processing', 'In flight'],
  ['unknown', 'Unknown outcome'],
  ['completed', 'Completed'],
  ['failed', 'Failed'],
] as const;

const GUARD = `const idem = idempotency({ service: 'shop', store: postgresIdempotency({ pool }) });
app.post('/orders', idempotent(idem, { person }), placeOrder);`;

/** What was asked once, and what became of it. The keys themselves are not kept. */
export function IdempotencyPage(): ReactElement {
  const [search] = usePlace();
  const { status, domain } = search;
  const listed = useListed('idempotency', { status, domain });
  return (
    <>
      <PageHead
        title="Idempotency"
        note="One record for each key; only its hash is kept. Trace a key to find its record."
      />
      <div className="filters">
        <SegmentLinks label="Status" name="status" value={status ?? ''} usual="" choices={STATUSES} />
        <FilterField name="domain" label="Domain" isSearch />
      </div>
      <ListFrame
        listed={listed}
        empty={
          <>
            <Empty title="No record">
              A guarded route or job claims its key here before it runs, and keeps its reply.
            </Empty>
            <TeachingCode code={GUARD} />
          </>
        }
      >
        <Rows label="Idempotency records" columns={COLUMNS} rows={listed.items} idOf={({ id }) => id} />
      </ListFrame>
    </>
  );
}
