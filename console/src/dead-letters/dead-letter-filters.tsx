import { useQuery } from '@tanstack/react-query';
import type { ReactElement } from 'react';
import { handlersQuery } from '../api/queries.ts';
import { FilterField, FilterSelect } from '../parts/filter-fields.tsx';
import { usePlace } from '../parts/place.ts';
import { SegmentLinks } from '../parts/segment-links.tsx';

const STATES = [
  ['open', 'Open'],
  ['ignored', 'Ignored'],
  ['resolved', 'Resolved'],
  ['all', 'All'],
] as const;

const STATUSES = [
  ['pending', 'Needs somebody'],
  ['replaying', 'Replaying'],
  ['replayed', 'Replayed'],
  ['discarded', 'Discarded'],
] as const;

/** What dead letters are chosen by; all of it stands in the address. */
export function DeadLetterFilters({ view }: { readonly view: string }): ReactElement {
  const [search] = usePlace();
  const { data = [] } = useQuery(handlersQuery);
  const handlers = data.map(({ service, handler }) => `${service}/${handler}`).toSorted();
  const isList = view === 'list';
  return (
    <div className="filters">
      {isList ? (
        <SegmentLinks
          label="Status"
          name="status"
          value={search['status'] ?? 'pending'}
          usual="pending"
          choices={STATUSES}
        />
      ) : (
        <SegmentLinks label="State" name="state" value={search['state'] ?? 'open'} usual="open" choices={STATES} />
      )}
      <FilterField name="search" label={isList ? 'Search id, key, error or payload' : 'Search the error'} isSearch />
      <FilterSelect name="handler" label="Handler" choices={handlers} />
      {isList ? <FilterSelect name="since" label="Since" choices={['15m', '1h', '1d', '7d']} /> : null}
      {isList && search['group'] !== undefined ? <FilterField name="group" label="Group" /> : null}
      {isList ? <FilterField name="key" label="Key" /> : null}
    </div>
  );
}
