import type { TabCount } from '../../operator/message-list.ts';
import { MESSAGE_TABS } from '../../operator/message-list.ts';
import type { HandlerRecord, HandlerStats, OperatorStats } from '../../operator/operator-records.ts';
import type { RowState } from '../row.ts';
import { HOLDING_STATES } from './held-keys.ts';
import { type LiveOwner, ownersOf } from './live-owners.ts';
import { TAB_STATES } from './message-list.ts';
import { type KnownHandler, knownHandlers, type OperatorParts, serverTime } from './operator-parts.ts';

/** Tabs are counted no further, in rows. */
const TAB_CAP = 10_000;
/** So many of the first in line are looked at for what is late, and for types that no handler takes. */
const MOST_LOOKED_AT = 1_000;
/** Holders whose keys are known; of more, what they hold may count as late. */
const MOST_HOLDERS = 10_000;

/** All handlers. */
export async function listHandlers(parts: OperatorParts): Promise<readonly HandlerRecord[]> {
  const owners = await ownersOf(parts);
  return (await knownHandlers(parts)).map((one) => handlerRecord(one, owners));
}

/** A handler, and who works for it. */
export function handlerRecord(handler: KnownHandler, owners: ReadonlyMap<string, LiveOwner>): HandlerRecord {
  const { service, name, types, registeredAt, id } = handler;
  const owner = owners.get(id)?.owner;
  return {
    service,
    handler: name,
    // None would mean that it is retired: an outbox takes all, and of an inbox they are known once it has started.
    types: types.length > 0 ? types : ['*'],
    isPinned: false,
    isRepeatable: false,
    pausedAt: undefined,
    limit: undefined,
    registeredAt,
    workers: owner === undefined ? [] : [owner],
  };
}

/** How much there is to do, by handler. */
export async function readStats(parts: OperatorParts, countDelivered: boolean): Promise<OperatorStats> {
  const at = await serverTime(parts);
  const owners = await ownersOf(parts);
  const known = await knownHandlers(parts);
  const handlers: HandlerStats[] = [];
  let withoutHandler = 0;
  for (const one of known) {
    const delivered = countDelivered ? await countRows(one, 'done') : undefined;
    handlers.push({
      service: one.service,
      handler: one.name,
      pausedAt: undefined,
      pending: await countRows(one, 'open'),
      waiting: await countRows(one, 'waiting'),
      failed: await countRows(one, 'dead'),
      delivered,
      oldestMs: await oldestMs(one, at),
      heldKeys: await countHeldKeys(one),
      workers: owners.has(one.id) ? 1 : 0,
    });
    for (const { count } of await withoutTaker(one)) withoutHandler += count;
  }
  return { at, isPaused: false, workers: owners.size, withoutHandler, handlers };
}

/** How many rows of a handler have a state, along the index; no further than `limit`. */
export function countRows({ of, service }: KnownHandler, state: RowState, limit?: number): Promise<number> {
  return of.rows.countDocuments({ service, state }, limit === undefined ? {} : { limit });
}

/** Keys that are held, among the first `most` rows that hold others. */
export async function countHeldKeys(
  handler: KnownHandler,
  states: readonly RowState[] = HOLDING_STATES,
  most: number = MOST_HOLDERS,
): Promise<number> {
  return (await heldKeysOf(handler, states, most)).size;
}

async function heldKeysOf(
  { of, service }: KnownHandler,
  states: readonly RowState[] = HOLDING_STATES,
  most: number = MOST_HOLDERS,
): Promise<ReadonlySet<string>> {
  const holders = await of.rows
    .find({ service, state: { $in: [...states] } }, { projection: { key: 1 } })
    .sort({ seq: 1 })
    .limit(most)
    .toArray();
  return new Set(holders.flatMap(({ key }) => key ?? []));
}

/** Age of the first in line that is held by none. */
export async function oldestMs(handler: KnownHandler, at: Date): Promise<number | undefined> {
  const { of, service } = handler;
  const held = await heldKeysOf(handler, HOLDING_STATES, MOST_LOOKED_AT);
  const first = await of.rows
    .find({ service, state: 'open' }, { projection: { key: 1, createdAt: 1 } })
    .sort({ seq: 1 })
    .limit(MOST_LOOKED_AT)
    .toArray();
  const oldest = first.find(({ key }) => key === null || !held.has(key));
  return oldest && Math.max(0, at.getTime() - oldest.createdAt.getTime());
}

/** Types among the first in line of an inbox that its last start did not take. */
export async function withoutTaker({
  of,
  service,
  types,
}: KnownHandler): Promise<readonly { readonly type: string; readonly count: number }[]> {
  if (of.name === 'outbox' || types.length === 0) return [];
  const found = await of.rows
    .aggregate<{ readonly _id: string; readonly count: number }>([
      { $match: { service, state: 'open' } },
      { $sort: { seq: 1 } },
      { $limit: MOST_LOOKED_AT },
      { $match: { eventType: { $nin: types.map((type) => type) } } },
      { $group: { _id: '$eventType', count: { $sum: 1 } } },
    ])
    .toArray();
  return found.map(({ _id: type, count }) => ({ type, count }));
}

/** How many rows are in the state of each tab, counted up to `TAB_CAP`. A message counts once for each service that has it. */
export async function countTabs(parts: OperatorParts): Promise<readonly TabCount[]> {
  const known = await knownHandlers(parts);
  const tabs: TabCount[] = [];
  for (const tab of MESSAGE_TABS) {
    const state = TAB_STATES[tab];
    if (state === undefined) continue;
    let count = 0;
    for (const one of known) count += await countRows(one, state, TAB_CAP + 1 - Math.min(count, TAB_CAP));
    const isCut = count > TAB_CAP;
    tabs.push({ tab, count: isCut ? TAB_CAP : count, precision: isCut ? 'at-least' : 'exact' });
  }
  return tabs;
}
