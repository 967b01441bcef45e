import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { instantOf } from '../parts/span-of-time.ts';
import { ask, type Params, Problem } from './client.ts';
import type { DeliveryPage } from './delivery-queries.ts';
import type { Answer } from './wire.ts';

/** Who is logged in, and what they may do. */
export interface Session {
  readonly actor: string;
  readonly role: 'viewer' | 'operator' | 'admin';
  readonly csrf: string;
  readonly version: string;
  readonly isReadOnly: boolean;
  /** It is a delivery server too. */
  readonly isDelivering: boolean;
  /** What it stands on; on MongoDB not all can be done. */
  readonly store?: 'postgres' | 'mongodb';
}

export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: ({ signal }) => ask<Session>('session', {}, signal),
  staleTime: Infinity,
  retry: false,
});

// What changes by itself is read again while the page is live; lists are not, their rows would jump.
const live = { live: true } as const;

function read<T>(path: string, params: Params, signal: AbortSignal): Promise<T> {
  return ask<T>(path, withInstants(params), signal);
}

/** `since=2h` is resolved when it is asked, so that a link with it means the last two hours for everybody. */
function withInstants(params: Params): Params {
  const { since, until, ...rest } = params;
  return { ...rest, since: instantOf(since), until: instantOf(until) };
}

export const overviewQuery = (range: string) =>
  queryOptions({
    queryKey: ['overview', range],
    queryFn: ({ signal }) => read<Answer<'overview'>>('overview', { range }, signal),
    meta: live,
    placeholderData: (before) => before,
  });

export const tabsQuery = queryOptions({
  queryKey: ['tabs'],
  queryFn: ({ signal }) => read<Answer<'messageTabs'>>('messages/tabs', {}, signal),
  meta: live,
});

export const messageQuery = (id: string) =>
  queryOptions({
    queryKey: ['message', id],
    queryFn: async ({ signal }) => {
      const found = await read<Answer<'show'>>(`messages/${encodeURIComponent(id)}`, {}, signal);
      if (found.kind !== 'found') throw new Error('not found');
      return found.message;
    },
    meta: live,
  });

export const whyQuery = (id: string) =>
  queryOptions({
    queryKey: ['why', id],
    queryFn: async ({ signal }) => {
      const why = await read<Answer<'why'>>(`messages/${encodeURIComponent(id)}/why`, {}, signal);
      return why.kind === 'why' ? why.deliveries : [];
    },
    meta: live,
  });

export const forecastQuery = (id: string) =>
  queryOptions({
    queryKey: ['forecast', id],
    queryFn: async ({ signal }) => {
      const forecast = await read<Answer<'forecast'>>(`messages/${encodeURIComponent(id)}/forecast`, {}, signal);
      return forecast.kind === 'forecast' ? forecast.deliveries : [];
    },
    meta: live,
  });

export const groupQuery = (id: string) =>
  queryOptions({
    queryKey: ['group', id],
    queryFn: ({ signal }) => read<Answer<'group'>>(`groups/${encodeURIComponent(id)}`, {}, signal),
    meta: live,
  });

export const bulkQuery = (id: string) =>
  queryOptions({
    queryKey: ['bulk', id],
    queryFn: async ({ signal }) => {
      const found = await read<Answer<'bulk'>>(`bulk/${encodeURIComponent(id)}`, {}, signal);
      if (found.kind !== 'found') throw new Error('not found');
      return found.bulk;
    },
    meta: live,
  });

export const handlersQuery = queryOptions({
  queryKey: ['handlers'],
  queryFn: ({ signal }) => read<Answer<'handlers'>>('handlers', {}, signal),
  meta: live,
});

export const statsQuery = queryOptions({
  queryKey: ['stats'],
  queryFn: ({ signal }) => read<Answer<'stats'>>('stats', { countDelivered: false }, signal),
  meta: live,
});

export const systemQuery = queryOptions({
  queryKey: ['system'],
  queryFn: ({ signal }) => read<Answer<'system'>>('system', {}, signal),
  meta: live,
});

/** That nothing is known by an id is an answer, and no error. */
function unknownId(error: unknown): Answer<'trace'> {
  if (error instanceof Problem && error.status === 404) return { kind: 'not-found' };
  if (error instanceof Problem && error.fields['kind'] === 'bad-id') return { kind: 'bad-id', problem: error.message };
  throw error;
}

export const traceQuery = (id: string) =>
  queryOptions({
    queryKey: ['trace', id],
    queryFn: ({ signal }) => read<Answer<'trace'>>('trace', { id }, signal).catch(unknownId),
    enabled: id !== '',
    retry: false,
  });

/** Lists that are read page by page, by their path below the API. */
export interface Lists {
  readonly messages: Answer<'messages'>;
  readonly 'dead-letters': Answer<'deadLetters'>;
  readonly groups: Answer<'groups'>;
  readonly bulk: Answer<'bulks'>;
  readonly keys: Answer<'heldKeys'>;
  readonly breakers: Answer<'breakers'>;
  readonly idempotency: Answer<'idempotencyRecords'>;
  readonly commands: Answer<'commands'>;
  readonly calls: Answer<'outgoingCalls'>;
  readonly audit: Answer<'audit'>;
  readonly 'delivery/messages': DeliveryPage;
}

/** A list by keyset: each page begins where the last one ended. */
export const listQuery = <List extends keyof Lists>(list: List, params: Params = {}, path: string = list) =>
  infiniteQueryOptions({
    queryKey: ['list', list, path, params],
    queryFn: ({ pageParam, signal }) => read<Lists[List]>(path, { limit: 50, ...params, cursor: pageParam }, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next ?? undefined,
  });
