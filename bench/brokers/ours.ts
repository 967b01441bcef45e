import { event, holdfast, outgoing, type RelayEvent, type Transport } from 'holdfast';
import { postgres } from 'holdfast/postgres';
import type { Pool, PoolClient } from 'pg';
import { inTransaction } from '../engine/holdfast-queue.ts';
import { EFFECT_INSERT, effectLists, EFFECTS_INSERT, inBulks, type Order } from '../engine/queue.ts';
import { TYPE } from './side.ts';

const SERVICE = 'bench';
const orderPlaced = event<Order>(TYPE, { key: (order) => order.orderId });

/** How effects are made: one statement for each message, or one for all that are at hand. */
export type Effects = 'each' | 'many';

/** Holdfast as it comes, with a transport. */
function serviceOn(pool: Pool, transport: Transport) {
  return holdfast({ service: SERVICE, store: postgres({ pool }), transport });
}

/** Makes the publisher known, so that what is sent before it runs is its own. */
export async function prepareRelay(pool: Pool, transport: Transport): Promise<void> {
  const running = await serviceOn(pool, transport).start({ handlers: [`to-${transport.name}`] });
  await running.stop();
}

export async function fillOutbox(pool: Pool, transport: Transport, count: number): Promise<void> {
  const service = serviceOn(pool, transport);
  await inBulks(count, (bulk) =>
    inTransaction(pool, (tx) =>
      service.sendAll(
        tx,
        bulk.map((order) => outgoing(orderPlaced, order)),
      ),
    ),
  );
}

/** Publishes all that is in the outbox; milliseconds from the first that is taken until the last is noted as published. */
export async function relayOurs(pool: Pool, transport: Transport, count: number): Promise<number> {
  const work = new WorkClock(`to-${transport.name}`, count);
  const running = await serviceOn(pool, transport).start({ handlers: [work.handler], observers: [work.observe] });
  const endedMs = await work.all;
  await running.stop();
  return endedMs - work.startedMs;
}

/** Handles all that is at the broker; resolves, with the time, when the last effect is committed. */
export async function consumeOurs(pool: Pool, transport: Transport, count: number, effects: Effects): Promise<number> {
  const work = new WorkClock('book', count);
  const service = serviceOn(pool, transport);
  if (effects === 'each') {
    service.project(orderPlaced, 'book', async (order, tx: PoolClient) => {
      await tx.query(EFFECT_INSERT, [order.orderId, order.total]);
    });
  } else {
    service.projectAll(orderPlaced, 'book', async (batch, tx: PoolClient) => {
      await tx.query(EFFECTS_INSERT, effectLists(batch.map(({ payload }) => payload)));
    });
  }
  const running = await service.start({
    handlers: [work.handler, `from-${transport.name}`],
    observers: [work.observe],
  });
  const endedMs = await work.all;
  await running.stop();
  return endedMs;
}

/** Sees when the first of a handler's runs starts, and when so many of them are done and written. */
class WorkClock {
  readonly handler: string;
  readonly all: Promise<number>;
  startedMs = 0;
  #left: number;
  #reached: (atMs: number) => void = () => {};
  #failed: (error: unknown) => void = () => {};

  constructor(handler: string, expected: number) {
    this.handler = handler;
    this.#left = expected;
    this.all = new Promise((resolve, reject) => {
      this.#reached = resolve;
      this.#failed = reject;
    });
  }

  readonly observe = (told: RelayEvent): void => {
    if (told.kind === 'run-failed' || told.kind === 'transport-failed' || told.kind === 'store-failed')
      this.#failed(new Error(`${told.kind}: ${JSON.stringify(told.error)}`, { cause: told.error }));
    if (!('handler' in told) || told.handler !== this.handler) return;
    if (told.kind === 'run-started' && this.startedMs === 0) this.startedMs = nowMs();
    if (told.kind === 'run-done' && --this.#left === 0) this.#reached(nowMs());
  };
}

/** Of the wall clock, as the database has it, but finer than a millisecond. */
export function nowMs(): number {
  return performance.timeOrigin + performance.now();
}
