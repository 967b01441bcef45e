import type { ReactElement } from 'react';
import { Delivering } from '../deliveries/delivering.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { usePlace } from '../parts/place.ts';
import { SegmentLinks } from '../parts/segment-links.tsx';
import { FlowTable } from './flow-table.tsx';
import { QueueTable } from './queue-table.tsx';
import { UrlGroupTable } from './url-group-table.tsx';

const VIEWS = [
  ['queues', 'Queues'],
  ['flow', 'Flow control'],
  ['groups', 'URL groups'],
] as const;

const NOTES: Readonly<Record<string, string>> = {
  queues: 'First in, first out, so many at once; a message that is tried again keeps its place.',
  flow: 'So many at once and so many a period under one key, over all processes.',
  groups: 'Addresses under one name: what is published to it goes to each.',
};

/** What deliveries stand in line for, and where they fan out. */
export function LinesPage(): ReactElement {
  const [search] = usePlace();
  const view = search['view'] ?? 'queues';
  return (
    <Delivering title="Queues">
      <PageHead title="Queues" note={NOTES[view]}>
        <SegmentLinks label="View" name="view" value={view} usual="queues" choices={VIEWS} />
      </PageHead>
      {view === 'flow' ? <FlowTable /> : view === 'groups' ? <UrlGroupTable /> : <QueueTable />}
    </Delivering>
  );
}
