import { useInfiniteQuery } from '@tanstack/react-query';
import type { ReactElement, ReactNode } from 'react';
import type { Params } from '../api/client.ts';
import { listQuery, type Lists } from '../api/queries.ts';
import { Ago } from './ago.tsx';
import { ErrorBox, Skeleton } from './notice.tsx';

/** An item of a list. */
export type ItemOf<List extends keyof Lists> = Lists[List]['items'][number];

/** What is known of a list so far. */
export interface Listed<Item> {
  readonly items: readonly Item[];
  readonly query: {
    readonly isPending: boolean;
    readonly error: unknown;
    readonly refetch: () => unknown;
    readonly hasNextPage: boolean;
    readonly isFetchingNextPage: boolean;
    readonly fetchNextPage: () => unknown;
  };
  /** Of messages: how far back was looked. */
  readonly searchedBackTo: string | undefined;
  /** What could not be looked into. */
  readonly note: string | undefined;
}

/** A list, its pages in one. `isLive`: it is read again by itself. */
export function useListed<List extends keyof Lists>(
  list: List,
  params: Params = {},
  options: { readonly path?: string; readonly isLive?: boolean } = {},
): Listed<ItemOf<List>> {
  const query = useInfiniteQuery({
    ...listQuery(list, params, options.path),
    meta: options.isLive ? { live: true } : {},
    placeholderData: (before) => before,
  });
  const pages = query.data?.pages ?? [];
  const last = pages.at(-1);
  return {
    items: pages.flatMap((page) => page.items as readonly ItemOf<List>[]),
    query,
    searchedBackTo: last !== undefined && 'searchedBackTo' in last ? last.searchedBackTo : undefined,
    note: last !== undefined && 'note' in last ? last.note : undefined,
  };
}

/** The list, or what stands in its place: a skeleton, an error, what it would show. Below it the way to the next page. */
export function ListFrame<Item>({
  listed,
  empty,
  children,
}: {
  readonly listed: Listed<Item>;
  readonly empty: ReactNode;
  readonly children: ReactNode;
}): ReactElement {
  const { items, query, searchedBackTo, note } = listed;
  if (query.isPending) return <Skeleton />;
  if (query.error !== null && items.length === 0) {
    return <ErrorBox error={query.error} retry={() => void query.refetch()} />;
  }
  return (
    <>
      {items.length > 0 ? children : query.hasNextPage ? null : empty}
      {note === undefined ? null : <p className="muted">{note}</p>}
      {query.hasNextPage ? (
        <div className="more">
          {searchedBackTo === undefined ? null : (
            <span>
              {items.length === 0 ? 'Nothing yet; searched' : 'Searched'} back to <Ago at={searchedBackTo} />
            </span>
          )}
          <button type="button" disabled={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
            {query.isFetchingNextPage ? 'Reading …' : searchedBackTo === undefined ? 'Show more' : 'Continue'}
          </button>
        </div>
      ) : null}
    </>
  );
}
