import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { bulkQuery } from '../api/queries.ts';
import { Ago } from '../parts/ago.tsx';
import { count } from '../parts/figures.ts';
import { Icon } from '../parts/icon.tsx';
import { ErrorBox, Skeleton } from '../parts/notice.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { StateMark } from '../parts/state-mark.tsx';
import { BulkActions } from './bulk-actions.tsx';
import { BulkItems } from './bulk-items.tsx';
import type { Bulk } from './bulk-list-page.tsx';
import { ProgressBar } from './progress-bar.tsx';

const NAMES = { replay: 'Replay', discard: 'Discard', republish: 'Republish' } as const;

const isGoing = (bulk: Bulk | undefined): boolean => bulk?.state === 'running' || bulk?.state === 'canary';

/** How far a bulk operation is. It goes on whether somebody looks or not. */
export function BulkPage(): ReactElement {
  const { id = '' }: { id?: string } = useParams({ strict: false });
  const { data, error } = useQuery({
    ...bulkQuery(id),
    // The items end one after the other, and nothing else says so.
    refetchInterval: ({ state }) => (isGoing(state.data) ? 1_000 : false),
  });
  if (data === undefined) return error === null ? <Skeleton /> : <ErrorBox error={error} />;
  return (
    <>
      <Link to="/bulk" className="back-link">
        <Icon name="back" /> Bulk operations
      </Link>
      <PageHead
        title={`${NAMES[data.verb]} of ${count(data.total)}`}
        note={
          <>
            <StateMark state={data.state} /> by <bdi>{data.actor}</bdi> <Ago at={data.startedAt ?? data.createdAt} />
            {data.reason === undefined ? null : (
              <>
                : “<bdi>{data.reason}</bdi>”
              </>
            )}
          </>
        }
      >
        <BulkActions bulk={data} />
      </PageHead>
      {data.pausedFor === undefined ? null : (
        <p className="banner parked">
          <StateMark state="paused" /> <bdi>{data.pausedFor}</bdi>
        </p>
      )}
      <div className="big-progress">
        <ProgressBar bulk={data} />
      </div>
      <Counts bulk={data} />
      <BulkItems bulk={data} />
    </>
  );
}

const OUTCOMES = ['selected', 'started', 'succeeded', 'failed', 'discarded', 'skipped', 'dropped'] as const;

function Counts({ bulk }: { readonly bulk: Bulk }): ReactElement {
  const shown = OUTCOMES.filter(
    (outcome) => bulk.counts[outcome] > 0 || outcome === 'failed' || outcome === 'selected',
  );
  return (
    <ul className="count-row" aria-label="Outcomes">
      {shown.map((outcome) => (
        <li key={outcome}>
          <StateMark state={outcome} word={outcome === 'failed' ? 'Failed again' : undefined} />{' '}
          <strong>{count(bulk.counts[outcome])}</strong>
        </li>
      ))}
      {bulk.canary > 0 ? <li className="muted">canary of {bulk.canary}</li> : null}
      {bulk.perSecond === undefined ? null : <li className="muted">at most {bulk.perSecond} a second</li>}
    </ul>
  );
}
