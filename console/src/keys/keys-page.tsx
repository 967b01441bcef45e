import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { Ago } from '../parts/ago.tsx';
import { count, errorLine, shortKey } from '../parts/figures.ts';
import { FilterField } from '../parts/filter-fields.tsx';
import { Icon } from '../parts/icon.tsx';
import { type ItemOf, ListFrame, useListed } from '../parts/listed.tsx';
import { Empty } from '../parts/notice.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { usePlace } from '../parts/place.ts';
import { useRowKeys } from '../parts/row-keys.ts';
import { type Column, Rows } from '../parts/rows.tsx';
import { StateMark } from '../parts/state-mark.tsx';
import { useActs } from '../shell/acts.tsx';
import { useIsMongodb, useRights } from '../shell/session.tsx';
import { releaseAct, replayKeyAct, skipAct } from './key-acts.ts';

export type HeldKey = ItemOf<'keys'>;

const idOf = ({ service, handler, key }: HeldKey): string => `${service}/${handler} ${key}`;

const COLUMNS: readonly Column<HeldKey>[] = [
  {
    head: 'Key',
    card: 'title',
    cell: ({ key }) => (
      <Link to="/messages" search={{ key }} className="mono" title={key}>
        <bdi>{shortKey(key)}</bdi>
      </Link>
    ),
  },
  { head: 'Handler', cell: ({ service, handler }) => `${service}/${handler}` },
  {
    head: 'Head',
    card: 'end',
    cell: ({ holder }) => (
      <Link to="/messages/$id" params={{ id: holder.messageId }} title={holder.messageId}>
        <StateMark state={holder.status} />
      </Link>
    ),
  },
  {
    head: 'Why it waits',
    isWide: true,
    cell: ({ holder }) => (
      <>
        <NextAttempt holder={holder} />
        <bdi className="muted">{holder.error === undefined ? '' : errorLine(holder.error)}</bdi>
      </>
    ),
  },
  { head: 'Held', isFigure: true, isExtra: true, cell: ({ holder }) => <Ago at={holder.since} /> },
  { head: 'Failed', isFigure: true, isExtra: true, cell: ({ failed }) => count(failed) },
  { head: 'Behind', isFigure: true, cell: ({ behind }) => count(behind) },
  { head: 'Do', isActions: true, cell: (row) => <KeyActions row={row} /> },
];

/** When its first message is tried again. While the breaker of its handler is open nothing is tried, whatever time has come. */
function NextAttempt({ holder }: Pick<HeldKey, 'holder'>): ReactElement | null {
  const { dueAt, breaker } = holder;
  if (breaker !== undefined) {
    return (
      <>
        held by the breaker{' '}
        <Link to="/breakers" search={{ breaker: breaker.name }}>
          {breaker.name}
        </Link>
        {breaker.probeAt === undefined ? null : (
          <>
            , next probe <Ago at={breaker.probeAt} />
          </>
        )}{' '}
      </>
    );
  }
  if (dueAt === undefined) return null;
  return (
    <>
      next attempt <Ago at={dueAt} />{' '}
    </>
  );
}

/** Keys whose later messages wait behind one that retries or has failed. */
export function KeysPage(): ReactElement {
  const [search] = usePlace();
  const { canOperate } = useRights();
  const { ask } = useActs();
  const listed = useListed('keys', { handler: search['handler'], service: search['service'] }, { isLive: true });
  const find = (id: string): HeldKey | undefined => listed.items.find((row) => idOf(row) === id);
  const replay = (id: string): void => {
    const row = find(id);
    if (row !== undefined && row.failed > 0) ask(replayKeyAct(row));
  };
  const current = useRowKeys(listed.items.map(idOf), canOperate ? { replay } : {});
  return (
    <>
      <PageHead title="Keys" note="Keys that stand still: what comes later waits, so that the order holds." />
      <div className="filters">
        <FilterField name="handler" label="Handler" isSearch />
      </div>
      <ListFrame
        listed={listed}
        empty={
          <Empty title="No key is held" command="holdfast keys">
            When the first message of a key retries or fails, those behind it wait here, unless the handler says{' '}
            <code>{"onDead: 'pass'"}</code>.
          </Empty>
        }
      >
        <Rows
          label="Held keys"
          columns={canOperate ? COLUMNS : COLUMNS.slice(0, -1)}
          rows={listed.items}
          idOf={idOf}
          current={current}
        />
      </ListFrame>
    </>
  );
}

function KeyActions({ row }: { readonly row: HeldKey }): ReactElement | null {
  const { ask } = useActs();
  const isMongodb = useIsMongodb();
  if (row.failed === 0) return <span className="muted">waits</span>;
  return (
    <span className="row-actions">
      <button type="button" onClick={() => ask(replayKeyAct(row))}>
        <Icon name="replay" /> Replay
      </button>
      {isMongodb ? null : (
        <button type="button" onClick={() => ask(releaseAct(row))}>
          <Icon name="release" /> Release
        </button>
      )}
      <button type="button" onClick={() => ask(skipAct(row))}>
        <Icon name="skip" /> Skip
      </button>
    </span>
  );
}
