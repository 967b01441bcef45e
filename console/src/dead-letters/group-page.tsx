import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { type ReactElement, useState } from 'react';
import { groupQuery } from '../api/queries.ts';
import type { Answer } from '../api/wire.ts';
import { BulkSheet, type BulkVerb } from '../bulk/bulk-sheet.tsx';
import { Ago } from '../parts/ago.tsx';
import { TrendBars } from '../parts/charts.tsx';
import { count } from '../parts/figures.ts';
import { Icon } from '../parts/icon.tsx';
import { MessageLink } from '../parts/message-link.tsx';
import { ErrorBox, Skeleton } from '../parts/notice.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { StateMark } from '../parts/state-mark.tsx';
import { useActs } from '../shell/acts.tsx';
import { useIsMongodb, useRights } from '../shell/session.tsx';
import { replayFittingAct } from './replay-fitting-act.ts';
import { GroupActions } from './group-actions.tsx';

type Found = Extract<Answer<'group'>, { kind: 'found' }>;

/** One cause of dead letters. */
export function GroupPage(): ReactElement {
  const { id = '' }: { id?: string } = useParams({ strict: false });
  const { data, error } = useQuery(groupQuery(id));
  const [verb, setVerb] = useState<BulkVerb>();
  const { canOperate } = useRights();
  const { ask } = useActs();
  const isMongodb = useIsMongodb();
  if (data?.kind !== 'found') return error === null ? <Skeleton /> : <ErrorBox error={error} />;
  const { group, sample } = data;
  const { pending } = group;
  return (
    <>
      <Link to="/dead-letters" className="back-link">
        <Icon name="back" /> Dead letters
      </Link>
      <PageHead
        title={group.error.code ?? group.error.name}
        note={
          <>
            {group.service}/{group.handler} · {group.type} · <StateMark state={group.state} />
          </>
        }
      >
        {canOperate && pending > 0 ? (
          <>
            <button
              type="button"
              className="primary"
              onClick={() => (isMongodb ? ask(replayFittingAct({ group: id }, pending)) : setVerb('replay'))}
            >
              <Icon name="replay" /> Replay {count(pending)} …
            </button>
            {isMongodb ? null : (
              <button type="button" onClick={() => setVerb('discard')}>
                <Icon name="discard" /> Discard {count(pending)} …
              </button>
            )}
          </>
        ) : null}
        <GroupActions group={group} />
      </PageHead>
      <GroupFacts group={group} sample={sample} />
      {verb === undefined ? null : (
        <BulkSheet verb={verb} filter={{ group: id }} expected={pending} close={() => setVerb(undefined)} />
      )}
    </>
  );
}

function GroupFacts({ group, sample }: Pick<Found, 'group' | 'sample'>): ReactElement {
  return (
    <div className="two-columns">
      <section className="block">
        <h2>Error</h2>
        <p className="pad error-text">
          <bdi>{group.error.message}</bdi>
        </p>
        {group.frames.length === 0 ? null : (
          <pre tabIndex={0} aria-label="Frames">
            {group.frames.join('\n')}
          </pre>
        )}
        {sample === undefined ? null : (
          <p className="pad">
            Newest: <MessageLink id={sample.messageId} /> <Ago at={sample.updatedAt} />
          </p>
        )}
      </section>
      <section className="block">
        <h2>Seen</h2>
        <dl className="facts-list">
          <dt>Needs somebody</dt>
          <dd>
            <Link to="/dead-letters" search={{ view: 'list', group: group.id }}>
              {count(group.pending)}
            </Link>
          </dd>
          <dt>In all</dt>
          <dd>{count(group.total)}</dd>
          <dt>First</dt>
          <dd>
            <Ago at={group.firstSeenAt} />
          </dd>
          <dt>Last</dt>
          <dd>
            <Ago at={group.lastSeenAt} />
          </dd>
          {group.changed === undefined ? null : (
            <>
              <dt>{group.state} by</dt>
              <dd>
                <bdi>{group.changed.actor}</bdi> <Ago at={group.changed.at} />
                {group.changed.reason === undefined ? null : <bdi className="block-text">{group.changed.reason}</bdi>}
              </dd>
            </>
          )}
        </dl>
        <div className="pad big-trend">
          <TrendBars values={group.trend} label="How often in each of the last 24 hours" />
        </div>
      </section>
    </div>
  );
}
