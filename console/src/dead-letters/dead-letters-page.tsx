import type { ReactElement } from 'react';
import { PageHead } from '../parts/page-head.tsx';
import { usePlace } from '../parts/place.ts';
import { SegmentLinks } from '../parts/segment-links.tsx';
import { DeadLetterFilters } from './dead-letter-filters.tsx';
import { DeadLetterList } from './dead-letter-list.tsx';
import { GroupList } from './group-list.tsx';

const VIEWS = [
  ['groups', 'By cause'],
  ['list', 'One by one'],
] as const;

/** What failed for good: first by cause, then one by one. */
export function DeadLettersPage(): ReactElement {
  const [search] = usePlace();
  const view = search['view'] ?? 'groups';
  return (
    <>
      <PageHead title="Dead letters" note="What failed for good. It stays until somebody replays or discards it.">
        <SegmentLinks label="View" name="view" value={view} usual="groups" choices={VIEWS} />
      </PageHead>
      <DeadLetterFilters view={view} />
      {view === 'list' ? <DeadLetterList /> : <GroupList />}
    </>
  );
}
