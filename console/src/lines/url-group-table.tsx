import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { type WholeItem, wholeQuery } from '../api/delivery-queries.ts';
import { Ago } from '../parts/ago.tsx';
import { count } from '../parts/figures.ts';
import { Empty, TeachingCode } from '../parts/notice.tsx';
import { type Column, Rows } from '../parts/rows.tsx';
import { WholeList } from '../parts/whole-list.tsx';

type UrlGroup = WholeItem<'delivery/url-groups'>;

const COLUMNS: readonly Column<UrlGroup>[] = [
  {
    head: 'Group',
    card: 'title',
    cell: ({ name }) => (
      <Link to="/deliveries" search={{ group: name }}>
        <bdi>{name}</bdi>
      </Link>
    ),
  },
  { head: 'Addresses', isFigure: true, card: 'end', cell: ({ endpoints }) => count(endpoints.length) },
  {
    head: 'Goes to',
    isWide: true,
    cell: ({ endpoints }) => (
      <bdi className="muted">
        {endpoints.map(({ name, url }) => (name === undefined ? url : `${name}: ${url}`)).join(', ')}
      </bdi>
    ),
  },
  { head: 'Changed', isFigure: true, isExtra: true, cell: ({ updatedAt }) => <Ago at={updatedAt} /> },
];

const ADD = `await client.urlGroups.addEndpoints({ name: 'partners', endpoints: [{ name: 'north', url: 'https://north.example/in' }] });`;

export function UrlGroupTable(): ReactElement {
  return (
    <WholeList
      query={useQuery(wholeQuery('delivery/url-groups'))}
      empty={
        <>
          <Empty title="There is no URL group yet">Adding the first address makes it.</Empty>
          <TeachingCode code={ADD} />
        </>
      }
    >
      {(rows) => <Rows label="URL groups" columns={COLUMNS} rows={rows} idOf={({ name }) => name} />}
    </WholeList>
  );
}
