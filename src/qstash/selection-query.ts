import type { DeadSelection } from '../delivery/dead-deliveries.ts';
import { DELIVERY_STATES, type DeliveryState } from '../delivery/delivery-log.ts';
import type { DeliverySelection } from '../delivery/delivery-messages.ts';
import { readJson } from './read-json.ts';
import { badRequest } from './refusal.ts';
import { readCount, readList } from './setting-values.ts';

type FieldName = 'url' | 'host' | 'path' | 'group' | 'scheduleId' | 'queue' | 'flowKey' | 'callerIp';

/** What a filter is compared with, and how several values are written in one text. */
const FILTERS: Readonly<
  Record<string, { readonly field: FieldName; readonly split: (text: string) => readonly string[] }>
> = {
  url: { field: 'url', split: (text) => partsBefore(text, /,(?=https?:\/\/)/i) },
  host: { field: 'host', split: readList },
  path: { field: 'path', split: (text) => partsBefore(text, /,(?=\/)/) },
  topicName: { field: 'group', split: readList },
  scheduleId: { field: 'scheduleId', split: readList },
  queueName: { field: 'queue', split: readList },
  // A key may have commas in it: one text is one key.
  flowControlKey: { field: 'flowKey', split: (text) => (text === '' ? [] : [text]) },
  callerIp: { field: 'callerIp', split: readList },
  callerIP: { field: 'callerIp', split: readList },
};

/** URLs may have commas in them, so the text as a whole may be meant too. */
function partsBefore(text: string, comma: RegExp): readonly string[] {
  if (text === '') return [];
  const parts = text.split(comma);
  return parts.length === 1 ? parts : [text, ...parts];
}

const LAST_TIME_MS = 8.64e15;
const MOST_IDS = 1_000;
/** The most a body that selects may have. */
export const MOST_SELECTING_BYTES = 200_000;
const MOST_VALUES = 100;
/** The count that the JavaScript client writes where its caller has given none. */
const DEFAULT_COUNT = 100;

/** The messages a query means. Several values of one name: any of them will do. */
export function readSelection(query: URLSearchParams): DeliverySelection {
  const messageIds = idsOf(query, 'messageIds', 'messageId');
  const labels = query.getAll('label').flatMap(readList);
  const from = readTime(query, 'fromDate');
  const to = readTime(query, 'toDate');
  return {
    ...values(query),
    ...(messageIds.length > 0 && { messageIds }),
    ...(labels.length > 0 && { labels }),
    ...(from && { from }),
    ...(to && { to }),
  };
}

function values(query: URLSearchParams): Partial<Record<FieldName, readonly string[]>> {
  const found: Partial<Record<FieldName, readonly string[]>> = {};
  for (const [name, { field, split }] of Object.entries(FILTERS)) {
    const given = query.getAll(name).flatMap(split);
    if (given.length === 0) continue;
    const all = [...(found[field] ?? []), ...given];
    if (all.length > MOST_VALUES)
      throw badRequest(`${name} has ${all.length} values and ${MOST_VALUES} is the most; ask several times`);
    found[field] = all;
  }
  return found;
}

/** Dead messages. */
export function readDeadSelection(query: URLSearchParams): DeadSelection {
  const dlqIds = idsOf(query, 'dlqIds', 'dlqId');
  const status = query.getAll('responseStatus').flatMap(readList);
  return {
    ...readSelection(query),
    ...(dlqIds.length > 0 && { dlqIds }),
    ...(status.length > 0 && { responseStatus: status.map((one) => readCount('responseStatus', one, 0, 999)) }),
  };
}

/** The states of log lines that are meant; `IN_PROGRESS` are three. */
export function readStates(query: URLSearchParams): readonly DeliveryState[] | undefined {
  const words = query.getAll('state').flatMap(readList);
  if (words.length === 0) return undefined;
  return words.flatMap((word): readonly DeliveryState[] => {
    if (word === 'IN_PROGRESS') return ['ACTIVE', 'RETRY', 'ERROR'];
    // The documentation writes it with two, the clients with one.
    const state = DELIVERY_STATES.find((one) => one === (word === 'CANCELLED' ? 'CANCELED' : word));
    if (state === undefined) throw badRequest(`state is ${JSON.stringify(word)}; write ${DELIVERY_STATES.join(', ')}`);
    return [state];
  });
}

/** How many, and from where on. */
export function readPage(
  query: URLSearchParams,
  most: number,
): { readonly limit: number; readonly cursor?: string | undefined } {
  const limit = readLimit(query) ?? DEFAULT_COUNT;
  const cursor = query.get('cursor');
  return { limit: Math.min(limit, most), ...(cursor && { cursor }) };
}

/** How many at most; nothing: it is not said. */
function readLimit(query: URLSearchParams): number | undefined {
  const count = query.get('count');
  return count === null || count === '' ? undefined : readCount('count', count, 1, Number.MAX_SAFE_INTEGER);
}

/**
 * How many are cancelled at most; nothing: all that match. The JavaScript client writes 100 where its caller has said nothing, and promises
 * that all are cancelled then: that count is taken for none.
 */
export function readCancelLimit(query: URLSearchParams): number | undefined {
  const limit = readLimit(query);
  return limit === DEFAULT_COUNT ? undefined : limit;
}

/**
 * The query, and what the body says besides it: clients write ids there. Nothing: a list in the body is empty, so nothing is selected.
 */
export function withBody(query: URLSearchParams, bytes: Uint8Array): URLSearchParams | undefined {
  if (bytes.length === 0) return query;
  const body = readJson(bytes);
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw badRequest('the body is no JSON object; write { "messageIds": ["…"] }');
  const all = new URLSearchParams(query);
  for (const [name, value] of Object.entries(body) as [string, unknown][]) {
    if (Array.isArray(value) && value.length === 0) return undefined;
    for (const one of Array.isArray(value) ? (value as unknown[]) : [value]) {
      if (one === null) continue;
      if (typeof one !== 'string' && typeof one !== 'number') throw badRequest(`${name} holds what is no text`);
      all.append(name, String(one));
    }
  }
  return all;
}

/**
 * Refuses a query that selects nothing: what was meant for one must not hit all. Clients write `count` where they mean all.
 */
export function demandFilter(query: URLSearchParams): void {
  const names = [...query.keys()].filter((name) => name !== 'cursor');
  if (names.length === 0) throw badRequest('no filter was given; pass one, or count=100 to mean all');
  const known = new Set([...Object.keys(FILTERS), ...OTHER_NAMES]);
  const unknown = names.find((name) => !known.has(name));
  // A filter that is not understood would select more than was meant.
  if (unknown !== undefined)
    throw badRequest(`${JSON.stringify(unknown)} is no filter; known are ${[...known].join(', ')}`);
}

const OTHER_NAMES = [
  'count',
  'messageIds',
  'messageId',
  'dlqIds',
  'dlqId',
  'label',
  'fromDate',
  'toDate',
  'responseStatus',
];

function idsOf(query: URLSearchParams, ...names: readonly string[]): readonly string[] {
  const given = names.flatMap((name) => query.getAll(name));
  const ids = given.flatMap(readList);
  if (given.length > 0 && ids.length === 0) throw badRequest(`${names[0]} is empty; write the ids`);
  if (ids.length > MOST_IDS) throw badRequest(`${ids.length} ids were given and ${MOST_IDS} is the most`);
  return ids;
}

function readTime(query: URLSearchParams, name: string): Date | undefined {
  const text = query.get(name);
  return text === null || text === '' ? undefined : new Date(readCount(name, text, 0, LAST_TIME_MS));
}
