import { event, holdfast, outgoing, type EventDefinition, type StartOptions } from 'holdfast';
import { migrate, postgres } from 'holdfast/postgres';
import { Client, type Pool, type PoolClient } from 'pg';
import type { Role } from '../result/result.ts';
import { poolOn, type BenchDatabase } from './bench-database.ts';
import {
  EFFECT_INSERT,
  effectLists,
  EFFECTS_INSERT,
  drainHere,
  inBulks,
  type KeyOf,
  type Order,
  type SharedQueue,
  type Work,
} from './queue.ts';

/** The events the bench sends, keyed: order is kept within each key. */
export const EVENTS: Readonly<Record<Work, EventDefinition<Order>>> = {
  nothing: event<Order>('order.placed', { key: (order) => order.orderId }),
  effect: event<Order>('order.paid', { key: (order) => order.orderId }),
  effects: event<Order>('order.listed', { key: (order) => order.orderId }),
};

type Relay = ReturnType<typeof relayOn>;

/** Holdfast as it comes. Only the store is named. */
export function relayOn(pool: Pool) {
  return holdfast({ service: 'bench', store: postgres({ pool }) });
}

/** Registers one handler for each kind of work; all tell `onStart` first. */
export function handleOrders(relay: Relay, onStart: (order: Order) => void): void {
  relay.on(EVENTS.nothing, 'ship', (order) => onStart(order));
  relay.project(EVENTS.effect, 'book', async (order, tx: PoolClient) => {
    onStart(order);
    await tx.query(EFFECT_INSERT, [order.orderId, order.total]);
  });
  relay.projectAll(EVENTS.effects, 'list', async (batch, tx: PoolClient) => {
    const orders = batch.map(({ payload }) => payload);
    for (const order of orders) onStart(order);
    await tx.query(EFFECTS_INSERT, effectLists(orders));
  });
}

/** Makes the tables and makes the handlers known, so that messages sent before a worker runs are theirs. */
export async function prepareHoldfast(database: BenchDatabase): Promise<void> {
  const client = new Client({ connectionString: database.url });
  await client.connect();
  try {
    await migrate(client);
  } finally {
    await client.end();
  }
  const pool = poolOn(database.url, 10);
  const relay = relayOn(pool);
  handleOrders(relay, () => undefined);
  const running = await relay.start();
  await running.stop();
  await pool.end();
}

/** Runs `work` in a transaction of its own. */
export async function inTransaction<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  try {
    await client.query('begin');
    const result = await work(client);
    await client.query('commit');
    return result;
  } finally {
    client.release();
  }
}

/** Stores messages in bulk. */
export function fillHoldfast(pool: Pool, count: number, work: Work, keyOf?: KeyOf): Promise<void> {
  const relay = relayOn(pool);
  const toSend = (order: Order) => outgoing(EVENTS[work], order);
  return inBulks(count, (bulk) => inTransaction(pool, (tx) => relay.sendAll(tx, bulk.map(toSend))), keyOf);
}

/** Forgets all messages, open and finished. */
export async function clearHoldfast(pool: Pool): Promise<void> {
  await pool.query('truncate holdfast.delivery, holdfast.delivered');
}

/** True once every delivery is finished. */
export async function isDrained(pool: Pool): Promise<boolean> {
  const { rows } = await pool.query('select 1 from holdfast.delivery limit 1');
  return rows.length === 0;
}

/** What differs where ours is compared with itself. */
interface QueueOptions {
  readonly name?: string;
  readonly role?: Role;
  readonly start?: StartOptions;
}

export async function holdfastQueue(
  database: BenchDatabase,
  { name = 'holdfast', role = 'ours', start = {} }: QueueOptions = {},
): Promise<SharedQueue> {
  await prepareHoldfast(database);
  const pool = poolOn(database.url, 20);
  const handle: SharedQueue['handle'] = async (_work, onStart) => {
    const relay = relayOn(pool);
    handleOrders(relay, onStart);
    return relay.start(start);
  };
  const isEmpty = (): Promise<boolean> => isDrained(database.admin);
  return {
    name,
    role,
    fill: (count, work, keyOf) => fillHoldfast(pool, count, work, keyOf),
    handle,
    isEmpty,
    drain: (count, work, onStart) => drainHere({ handle, isEmpty }, count, work, onStart),
    clear: () => clearHoldfast(pool),
    close: () => pool.end(),
  };
}
