import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { tabsQuery } from '../api/queries.ts';
import { Ago } from '../parts/ago.tsx';
import { count, shortKey } from '../parts/figures.ts';
import { ListFrame, type ItemOf, useListed } from '../parts/listed.tsx';
import { MessageLink } from '../parts/message-link.tsx';
import { Empty, TeachingCode } from '../parts/notice.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { usePlace } from '../parts/place.ts';
import { useRowKeys } from '../parts/row-keys.ts';
import { type Column, Rows } from '../parts/rows.tsx';
import { SegmentLinks } from '../parts/segment-links.tsx';
import { StateMark, wordOf } from '../parts/state-mark.tsx';
import { useActs } from '../shell/acts.tsx';
import { useRights } from '../shell/session.tsx';
import { replayAct } from '../message/message-acts.ts';
import { DeliveryDots } from './delivery-dots.tsx';
import { MessagePanel } from './message-panel.tsx';
import { NewPill } from './new-pill.tsx';
import { MESSAGE_TABS } from '../../../src/operator/message-list.ts';
import { filterOf } from './qualifiers.ts';
import { SearchBox } from './search-box.tsx';

export type ListedMessage = ItemOf<'messages'>;

const COLUMNS: readonly Column<ListedMessage>[] = [
  { head: 'State', card: 'lead', cell: ({ tab }) => <StateMark state={tab} /> },
  { head: 'Type', card: 'title', cell: (row) => <MessageLink id={row.id} text={row.type} /> },
  {
    head: 'Key',
    cell: ({ key }) => (key === undefined ? <span className="muted">–</span> : <KeyLink value={key} />),
  },
  { head: 'Handlers', isExtra: true, cell: ({ deliveries }) => <DeliveryDots deliveries={deliveries} /> },
  { head: 'Attempts', isFigure: true, isExtra: true, cell: ({ attempts }) => attempts },
  {
    head: 'Last error',
    isWide: true,
    isExtra: true,
    cell: ({ lastError }) => <bdi className="muted">{lastError ?? ''}</bdi>,
  },
  { head: 'Sent', isFigure: true, card: 'end', cell: ({ createdAt }) => <Ago at={createdAt} /> },
];

function KeyLink({ value }: { readonly value: string }): ReactElement {
  return (
    <Link to="/messages" search={{ key: value }} className="mono key-link" title={value}>
      <bdi>{shortKey(value)}</bdi>
    </Link>
  );
}

/** Every message: searched, by state, with a panel beside the list. */
export function MessagesPage(): ReactElement {
  const [search, change] = usePlace();
  const filter = filterOf(search);
  const listed = useListed('messages', filter);
  const navigate = useNavigate();
  const acts = useActs();
  const { canOperate } = useRights();
  const open = search['open'];
  const current = useRowKeys(
    listed.items.map(({ id }) => id),
    {
      open: (id) => (open === id ? void navigate({ to: '/messages/$id', params: { id } }) : change({ open: id })),
      ...(canOperate ? { replay: (id: string) => acts.ask(replayAct(id)) } : {}),
    },
  );
  return (
    <div className={open === undefined ? '' : 'with-panel'}>
      <div className="panel-main">
        <PageHead title="Messages" />
        <SearchBox />
        <Tabs />
        <NewPill
          filter={filter}
          newest={listed.items[0]?.createdAt}
          isEmpty={!listed.query.isPending && listed.items.length === 0}
          show={() => void listed.query.refetch()}
        />
        <ListFrame listed={listed} empty={<NoMessages isFiltered={Object.keys(filter).length > 0} />}>
          <Rows
            label="Messages"
            columns={COLUMNS}
            rows={listed.items}
            idOf={({ id }) => id}
            open={({ id }) => change({ open: id }, { replace: open !== undefined })}
            current={open ?? current}
          />
        </ListFrame>
      </div>
      {open === undefined ? null : <MessagePanel id={open} close={() => change({ open: undefined })} />}
    </div>
  );
}

/** States with how many there are: exact, at least, or about so many; the sign says which. */
function Tabs(): ReactElement {
  const [search] = usePlace();
  const { data } = useQuery(tabsQuery);
  const noteOf = (tab: string): string | undefined => {
    const found = data?.find((one) => one.tab === tab);
    if (found === undefined) return data === undefined ? '…' : '0';
    return `${found.precision === 'estimate' ? '≈ ' : ''}${count(found.count)}${found.precision === 'at-least' ? '+' : ''}`;
  };
  return (
    <SegmentLinks
      label="States"
      name="status"
      value={search['status'] ?? ''}
      usual=""
      choices={[['', 'All'], ...MESSAGE_TABS.map((tab) => [tab, wordOf(tab), noteOf(tab)] as const)]}
    />
  );
}

const SEND = `await client.query('begin');
await client.query('insert into orders …');
await hf.send(client, orderPlaced, { orderId });
await client.query('commit');`;

function NoMessages({ isFiltered }: { readonly isFiltered: boolean }): ReactElement {
  if (isFiltered) {
    return (
      <Empty title="No message fits" command="holdfast trace <any id>">
        Take a word out of the search, or look further back. What was handled is kept as long as the history.
      </Empty>
    );
  }
  return (
    <>
      <Empty title="No message was sent yet">A message appears here with the transaction that sends it.</Empty>
      <TeachingCode code={SEND} />
    </>
  );
}
