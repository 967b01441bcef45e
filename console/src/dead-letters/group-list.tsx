import { Link } from '@tanstack/react-router';
import { type ReactElement, useState } from 'react';
import { BulkSheet } from '../bulk/bulk-sheet.tsx';
import { Ago } from '../parts/ago.tsx';
import { TrendBars } from '../parts/charts.tsx';
import { count, counted } from '../parts/figures.ts';
import { Icon } from '../parts/icon.tsx';
import { type ItemOf, ListFrame, useListed } from '../parts/listed.tsx';
import { Empty } from '../parts/notice.tsx';
import { usePlace } from '../parts/place.ts';
import { useRowKeys } from '../parts/row-keys.ts';
import { StateMark } from '../parts/state-mark.tsx';
import { useActs } from '../shell/acts.tsx';
import { useIsMongodb, useRights } from '../shell/session.tsx';
import { replayFittingAct } from './replay-fitting-act.ts';
import { GroupActions } from './group-actions.tsx';

export type ErrorGroup = ItemOf<'groups'>;

/** Dead letters by cause, the last seen first. */
export function GroupList(): ReactElement {
  const [search, change] = usePlace();
  const { state = 'open', handler, search: text } = search;
  const listed = useListed(
    'groups',
    { state: state === 'all' ? undefined : state, handler, search: text },
    { isLive: true },
  );
  const [replaying, setReplaying] = useState<ErrorGroup>();
  const { canOperate } = useRights();
  const { ask } = useActs();
  const isMongodb = useIsMongodb();
  const replay = (group: ErrorGroup | undefined): void => {
    if (isMongodb && group !== undefined) ask(replayFittingAct({ group: group.id }, group.pending));
    else setReplaying(group);
  };
  const find = (id: string): ErrorGroup | undefined => listed.items.find((one) => one.id === id);
  const current = useRowKeys(
    listed.items.map(({ id }) => id),
    {
      open: (id) => change({ view: 'list', group: id, state: undefined, search: undefined }),
      ...(canOperate ? { replay: (id: string) => replay(find(id)) } : {}),
    },
  );
  return (
    <>
      <ListFrame listed={listed} empty={<NoGroups state={state} />}>
        <ul className="groups" aria-label="Error groups">
          {listed.items.map((group) => (
            <GroupCard key={group.id} group={group} isCurrent={group.id === current} replay={() => replay(group)} />
          ))}
        </ul>
      </ListFrame>
      {replaying === undefined ? null : (
        <BulkSheet
          verb="replay"
          filter={{ group: replaying.id }}
          expected={replaying.pending}
          close={() => setReplaying(undefined)}
        />
      )}
    </>
  );
}

function GroupCard({
  group,
  isCurrent,
  replay,
}: {
  readonly group: ErrorGroup;
  readonly isCurrent: boolean;
  readonly replay: () => void;
}): ReactElement {
  const { id, error, service, handler, type, pending, total, firstSeenAt, lastSeenAt, trend, state } = group;
  const { canOperate } = useRights();
  return (
    <li data-row={id} className={isCurrent ? 'group current' : 'group'}>
      <div className="group-main">
        <Link to="/dead-letters/groups/$id" params={{ id }} className="group-title">
          <strong>{error.code ?? error.name}</strong> <bdi>{error.message}</bdi>
        </Link>
        <p className="muted">
          {service}/{handler} · {type} · first <Ago at={firstSeenAt} /> · last <Ago at={lastSeenAt} />
          {state === 'open' ? null : (
            <>
              {' '}
              · <StateMark state={state} />
            </>
          )}
        </p>
      </div>
      <TrendBars
        values={trend}
        label={`${counted(
          trend.reduce((all, one) => all + one, 0),
          'time',
        )} in the last day`}
      />
      <Link to="/dead-letters" search={{ view: 'list', group: id }} className="group-count">
        <strong>{count(pending)}</strong>
        <span className="muted">of {count(total)}</span>
      </Link>
      <div className="group-actions">
        {canOperate && pending > 0 ? (
          <button type="button" onClick={replay}>
            <Icon name="replay" /> Replay {count(pending)}
          </button>
        ) : null}
        <GroupActions group={group} />
      </div>
    </li>
  );
}

function NoGroups({ state }: { readonly state: string }): ReactElement {
  if (state !== 'open') return <Empty title="No such group" />;
  return (
    <Empty title="No dead letters" command="holdfast dlq:list">
      When a handler has used up its attempts, what it could not do appears here, by its cause: one line for a thousand
      failures of one kind.
    </Empty>
  );
}
