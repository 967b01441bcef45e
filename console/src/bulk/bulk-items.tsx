import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import type { Answer } from '../api/wire.ts';
import { Ago } from '../parts/ago.tsx';
import { errorLine, shortKey } from '../parts/figures.ts';
import { ListFrame, useListed, type Listed } from '../parts/listed.tsx';
import { MessageLink } from '../parts/message-link.tsx';
import { Empty } from '../parts/notice.tsx';
import { usePlace } from '../parts/place.ts';
import { type Column, Rows } from '../parts/rows.tsx';
import { SegmentLinks } from '../parts/segment-links.tsx';
import { StateMark } from '../parts/state-mark.tsx';
import type { Bulk } from './bulk-list-page.tsx';

type BulkItem = Answer<'bulkItems'>['items'][number];

const COLUMNS: readonly Column<BulkItem>[] = [
  {
    head: 'Outcome',
    card: 'lead',
    cell: ({ outcome }) => <StateMark state={outcome} word={outcome === 'failed' ? 'Failed again' : undefined} />,
  },
  { head: 'Message', card: 'title', cell: ({ messageId, type }) => <MessageLink id={messageId} text={type} /> },
  {
    head: 'Key',
    isExtra: true,
    cell: ({ key = '' }) => (
      <bdi className="mono" title={key}>
        {shortKey(key)}
      </bdi>
    ),
  },
  { head: 'Handler', isExtra: true, cell: ({ service, handler }) => `${service}/${handler}` },
  {
    head: 'Error',
    isWide: true,
    cell: ({ error, group }) =>
      error === undefined ? null : group === undefined ? (
        <bdi>{errorLine(error)}</bdi>
      ) : (
        <Link to="/dead-letters/groups/$id" params={{ id: group }}>
          <bdi>{errorLine(error)}</bdi>
        </Link>
      ),
  },
  { head: 'Canary', isExtra: true, cell: ({ isCanary }) => (isCanary ? 'canary' : '') },
  { head: 'When', isFigure: true, card: 'end', cell: ({ endedAt, startedAt }) => <Ago at={endedAt ?? startedAt} /> },
];

const OUTCOMES = [
  ['failed', 'Failed again'],
  ['all', 'All'],
  ['selected', 'Not begun'],
  ['started', 'Started'],
  ['succeeded', 'Succeeded'],
  ['skipped', 'Skipped'],
] as const;

/** Each dead letter of it. What failed again is shown first. */
export function BulkItems({ bulk }: { readonly bulk: Bulk }): ReactElement {
  const [search] = usePlace();
  const outcome = search['outcome'] ?? (bulk.counts.failed > 0 ? 'failed' : 'all');
  const path = `bulk/${bulk.id}/items`;
  const listed = useListed(
    'bulk',
    { outcome: outcome === 'all' ? undefined : outcome },
    { path, isLive: true },
  ) as unknown as Listed<BulkItem>;
  return (
    <section className="block bare">
      <SegmentLinks label="Outcome" name="outcome" value={outcome} usual="-" choices={OUTCOMES} />
      <ListFrame listed={listed} empty={<Empty title={outcome === 'failed' ? 'Nothing failed again' : 'None'} />}>
        <Rows label="Items" columns={COLUMNS} rows={listed.items} idOf={({ id }) => id} />
      </ListFrame>
    </section>
  );
}
