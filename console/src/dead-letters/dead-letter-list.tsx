import { type ReactElement, useState } from 'react';
import { BulkSheet, type BulkFilter, type BulkVerb } from '../bulk/bulk-sheet.tsx';
import { Ago } from '../parts/ago.tsx';
import { errorLine, shortKey } from '../parts/figures.ts';
import { Icon } from '../parts/icon.tsx';
import { type ItemOf, ListFrame, useListed } from '../parts/listed.tsx';
import { MessageLink } from '../parts/message-link.tsx';
import { Empty } from '../parts/notice.tsx';
import { cleaned, type Search, usePlace } from '../parts/place.ts';
import { useRowKeys } from '../parts/row-keys.ts';
import { type Column, Rows, type Selection } from '../parts/rows.tsx';
import { instantOf } from '../parts/span-of-time.ts';
import { StateMark } from '../parts/state-mark.tsx';
import { MessagePanel } from '../messages/message-panel.tsx';
import { replayAct } from '../message/message-acts.ts';
import { useActs } from '../shell/acts.tsx';
import { useIsMongodb, useRights } from '../shell/session.tsx';
import { replayFittingAct } from './replay-fitting-act.ts';

type DeadLetter = ItemOf<'dead-letters'>;

const COLUMNS: readonly Column<DeadLetter>[] = [
  { head: 'Status', card: 'lead', cell: ({ status, error }) => <StateMark state={stateOf(status, error?.code)} /> },
  { head: 'Type', card: 'title', cell: ({ id, type }) => <MessageLink id={id.split(':')[0] ?? id} text={type} /> },
  { head: 'Error', isWide: true, cell: ({ error }) => <bdi>{error === undefined ? '–' : errorLine(error)}</bdi> },
  { head: 'Handler', isExtra: true, cell: ({ service, handler }) => `${service}/${handler}` },
  {
    head: 'Key',
    isExtra: true,
    cell: ({ key, holds }) =>
      key === undefined ? <span className="muted">–</span> : <KeyCell value={key} holds={holds} />,
  },
  { head: 'Attempts', isFigure: true, isExtra: true, cell: ({ attempts }) => attempts },
  { head: 'When', isFigure: true, card: 'end', cell: ({ updatedAt }) => <Ago at={updatedAt} /> },
];

/** What was set aside behind a dead letter did not fail itself. */
function stateOf(status: DeadLetter['status'], code: string | undefined): string {
  return status === 'pending' ? (code === 'PARKED' ? 'parked' : 'failed') : status;
}

function KeyCell({ value, holds }: { readonly value: string; readonly holds: boolean }): ReactElement {
  return (
    <>
      <bdi className="mono" title={value}>
        {shortKey(value)}
      </bdi>
      {holds ? (
        <>
          {' '}
          <StateMark state="parked" word="holds" />
        </>
      ) : null}
    </>
  );
}

const FILTER = ['service', 'handler', 'type', 'key', 'errorCode', 'group', 'search', 'since', 'until'];

const isField = (name: string): boolean => FILTER.includes(name) || name.startsWith('payload.');

function filterOf(search: Search): Record<string, string> {
  return Object.fromEntries(Object.entries(cleaned(search)).filter(([name]) => isField(name)));
}

/** The rows that were chosen. They are forgotten when the filter changes. */
function useSelection(): readonly [Selection, () => void] {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  const toggle = (id: string): void =>
    setIds((before) => (before.has(id) ? new Set([...before].filter((one) => one !== id)) : new Set([...before, id])));
  const toggleAll = (all: readonly string[]): void =>
    setIds((before) => (all.every((id) => before.has(id)) ? new Set() : new Set([...before, ...all])));
  return [{ ids, toggle, toggleAll }, () => setIds(new Set())];
}

/** Dead letters one by one, and what can be done to many. */
export function DeadLetterList(): ReactElement {
  const [search, change] = usePlace();
  const filter = filterOf(search);
  const status = search['status'] ?? 'pending';
  const listed = useListed('dead-letters', { ...filter, status });
  const [selection, clear] = useSelection();
  const { canOperate } = useRights();
  const { ask } = useActs();
  const open = search['open'];
  const isMongodb = useIsMongodb();
  const canReplay = canOperate && status === 'pending';
  const canChoose = canReplay && !isMongodb;
  const current = useRowKeys(
    listed.items.map(({ id }) => id),
    {
      open: (id) => change({ open: id }),
      ...(canChoose ? { toggle: selection.toggle } : {}),
      ...(canReplay ? { replay: (id: string) => ask(replayAct(id)) } : {}),
    },
  );
  return (
    <div className={open === undefined ? '' : 'with-panel'}>
      <div className="panel-main">
        {canReplay && isMongodb && listed.items.length > 0 ? (
          <div className="bulk-bar" role="toolbar" aria-label="Act on many">
            <button type="button" onClick={() => ask(replayFittingAct(bulkFilterOf(filter)))}>
              <Icon name="replay" /> Replay all matching …
            </button>
          </div>
        ) : null}
        {canChoose && listed.items.length > 0 ? (
          <BulkBar
            filter={filter}
            selection={selection}
            clear={clear}
            shown={listed.items.length}
            isAll={!listed.query.hasNextPage}
          />
        ) : null}
        <ListFrame listed={listed} empty={<Empty title="No dead letter fits">Nothing here needs anybody.</Empty>}>
          <Rows
            label="Dead letters"
            columns={COLUMNS}
            rows={listed.items}
            idOf={({ id }) => id}
            open={({ id }) => change({ open: id }, { replace: open !== undefined })}
            current={open ?? current}
            selection={canChoose ? selection : undefined}
          />
        </ListFrame>
      </div>
      {open === undefined ? null : <MessagePanel id={open} close={() => change({ open: undefined })} />}
    </div>
  );
}

function bulkFilterOf(filter: Readonly<Record<string, string>>): BulkFilter {
  const payload = Object.entries(filter)
    .filter(([name]) => name.startsWith('payload.'))
    .map(([name, value]) => ({ path: name.slice('payload.'.length).split('.'), value }));
  const rest = Object.fromEntries(Object.entries(filter).filter(([name]) => !name.startsWith('payload.')));
  const { since, until } = rest;
  return {
    ...rest,
    ...(since === undefined ? {} : { since: instantOf(since) }),
    ...(until === undefined ? {} : { until: instantOf(until) }),
    ...(payload.length === 0 ? {} : { payload }),
  };
}

/** What can be done to the chosen rows, or to all that fit: it always says which. */
function BulkBar({
  filter,
  selection,
  clear,
  shown,
  isAll,
}: {
  readonly filter: Readonly<Record<string, string>>;
  readonly selection: Selection;
  readonly clear: () => void;
  readonly shown: number;
  readonly isAll: boolean;
}): ReactElement {
  const [verb, setVerb] = useState<BulkVerb>();
  const many = selection.ids.size;
  const scope = many > 0 ? `${many} selected` : isAll ? `all ${shown} matching` : 'all matching';
  return (
    <div className="bulk-bar" role="toolbar" aria-label="Act on many">
      <button type="button" className={many > 0 ? 'primary' : ''} onClick={() => setVerb('replay')}>
        <Icon name="replay" /> Replay {scope} …
      </button>
      <button type="button" onClick={() => setVerb('discard')}>
        <Icon name="discard" /> Discard {scope} …
      </button>
      {many > 0 ? (
        <button type="button" className="quiet" onClick={clear}>
          Clear the selection
        </button>
      ) : (
        <span className="muted">or select rows with x</span>
      )}
      {verb === undefined ? null : (
        <BulkSheet
          verb={verb}
          filter={many > 0 ? { ids: [...selection.ids] } : bulkFilterOf(filter)}
          close={() => {
            setVerb(undefined);
            clear();
          }}
        />
      )}
    </div>
  );
}
