import type { DeadSelection } from '../delivery/dead-deliveries.ts';
import { DELIVERY_STATES, type DeliveryState } from '../delivery/delivery-log.ts';
import type { DeliverySelection } from '../delivery/delivery-messages.ts';
import { badRequest } from './refusal.ts';
import { readCount, readList } from './setting-values.ts';

const NAMES = {
  url: 'url',
  host: 'host',
  path: 'path',
  topicName: 'group',
  scheduleId: 'scheduleId',
  queueName: 'queue',
  flowControlKey: 'flowKey',
  callerIp: 'callerIp',
  callerIP: 'callerIp',
} as const;

const LAST_TIME_MS = 8.64e15;
const MOST_IDS = 1_000;
const MOST_COMBINATIONS = 100;

type SingleName = (typeof NAMES)[keyof typeof NAMES];

/** The messages a query means. Several values of one name: any of them will do, so there are several selections. */
export function readSelections(query: URLSearchParams): readonly DeliverySelection[] {
  const messageIds = idsOf(query, 'messageIds', 'messageId');
  const labels = query.getAll('label').flatMap(readList);
  const from = readTime(query, 'fromDate');
  const to = readTime(query, 'toDate');
  const common: DeliverySelection = {
    ...(messageIds.length > 0 && { messageIds }),
    ...(labels.length > 0 && { labels }),
    ...(from && { from }),
    ...(to && { to }),
  };
  let selections: readonly DeliverySelection[] = [common];
  for (const [name, values] of singles(query)) {
    if (selections.length * values.length > MOST_COMBINATIONS)
      throw badRequest('that are too many values to select by; ask several times');
    selections = selections.flatMap((one) => values.map((value) => Object.assign({ [name]: value }, one)));
  }
  return selections;
}

/** The same where there may be one value of a name: lists have a page, and a page has one selection. */
export function readSelection(query: URLSearchParams): DeliverySelection {
  const [selection, second] = readSelections(query);
  if (selection === undefined || second !== undefined) {
    throw badRequest('lists take one value of each filter, and several of label and of ids; ask once for each');
  }
  return selection;
}

function singles(query: URLSearchParams): ReadonlyMap<SingleName, readonly string[]> {
  const found = new Map<SingleName, readonly string[]>();
  for (const [name, field] of Object.entries(NAMES)) {
    const values = query.getAll(name).filter((value) => value !== '');
    if (values.length > 0) found.set(field, values);
  }
  return found;
}

/** Dead messages. */
export function readDeadSelection(query: URLSearchParams): DeadSelection {
  const dlqIds = idsOf(query, 'dlqIds', 'dlqId');
  const status = query.get('responseStatus');
  return {
    ...readSelection(query),
    ...(dlqIds.length > 0 && { dlqIds }),
    ...(status && { responseStatus: readCount('responseStatus', status, 0, 999) }),
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
  const count = query.get('count');
  const limit = count === null || count === '' ? 100 : readCount('count', count, 1, Number.MAX_SAFE_INTEGER);
  const cursor = query.get('cursor');
  return { limit: Math.min(limit, most), ...(cursor && { cursor }) };
}

/**
 * Refuses a query that selects nothing: what was meant for one must not hit all. Clients write `count` where they mean all.
 */
export function demandFilter(query: URLSearchParams): void {
  const names = [...query.keys()].filter((name) => name !== 'cursor');
  if (names.length === 0) throw badRequest('no filter was given; pass one, or count=100 to mean all');
  const known = new Set([...Object.keys(NAMES), ...OTHER_NAMES]);
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
