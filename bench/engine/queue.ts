import type { Role } from '../result/result.ts';

/** What a handler does: nothing, one insert for each message, or one insert for as many messages as it is given at once. */
export type Work = 'nothing' | 'effect' | 'effects';

/** What is stored for each message, about a hundred bytes as JSON. */
export interface Order {
  readonly orderId: string;
  readonly customer: string;
  readonly total: number;
  readonly note: string;
}

/** The insert that a handler does where it does one. */
export const EFFECT_INSERT = 'insert into effect (message, total) values ($1, $2)';

/** The same for many messages. */
export const EFFECTS_INSERT = 'insert into effect (message, total) select * from unnest($1::text[], $2::int[])';

/** The parameters of `EFFECTS_INSERT`. */
export function effectLists(batch: readonly Order[]): [messages: string[], totals: number[]] {
  return [batch.map(({ orderId }) => orderId), batch.map(({ total }) => total)];
}

/** How many messages each bulk statement carries, for all contestants. */
export const BULK = 1_000;

/** How many keys the messages are spread over. Only those who keep order within a key make use of it. */
const KEYS = 10_000;

/** The key of the message with that number. */
export type KeyOf = (n: number) => string;

const spread: KeyOf = (n) => `ord_${n % KEYS}`;

/** One of those who are compared. Each call leaves it empty or filled, so that calls can follow in any order. */
export interface Queue {
  readonly name: string;
  readonly role: Role;
  /** Stores that many messages for that work in bulk: `BULK` at a time, each bulk in a commit of its own. */
  fill(count: number, work: Work, keyOf?: KeyOf): Promise<void>;
  /** Handles all that was stored for that work; milliseconds from the first start of a handler until the last completion is written. */
  drain(count: number, work: Work, onStart?: (order: Order) => void): Promise<number>;
  /** Forgets all that is stored, handled or not. */
  clear(): Promise<void>;
  close(): Promise<void>;
}

/** A queue that can also be worked off by several processes. */
export interface SharedQueue extends Queue {
  /** Handles what comes until it is stopped. */
  handle(work: Work, onStart: (order: Order) => void): Promise<{ stop(): Promise<unknown> }>;
  /** True once every completion is written. */
  isEmpty(): Promise<boolean>;
}

export function orders(from: number, count: number, keyOf: KeyOf = spread): Order[] {
  return Array.from({ length: count }, (_, i) => ({
    orderId: keyOf(from + i),
    customer: 'cus_8fbc2f1e',
    total: from + i,
    note: 'leave it at the door, ring twice',
  }));
}

/**
 * The bulks of `count` messages, two under way: one is made while the server works on the other. With keys of its own it is one after
 * the other, so that the order within a key is that of the numbers.
 */
export async function inBulks(count: number, store: (bulk: Order[]) => Promise<unknown>, keyOf?: KeyOf): Promise<void> {
  let next = 0;
  const sender = async (): Promise<void> => {
    for (let from = next; from < count; from = next) {
      next += BULK;
      await store(orders(from, Math.min(BULK, count - from), keyOf));
    }
  };
  await Promise.all(keyOf === undefined ? [sender(), sender()] : [sender()]);
}

/** Handles all, in this process. */
export async function drainHere(
  { handle, isEmpty }: Pick<SharedQueue, 'handle' | 'isEmpty'>,
  count: number,
  work: Work,
  onStart?: (order: Order) => void,
): Promise<number> {
  const starts = new StartCounter(count);
  const running = await handle(work, (order) => {
    starts.count();
    onStart?.(order);
  });
  await starts.all;
  const endedMs = await untilTrue(isEmpty);
  await running.stop();
  return endedMs - starts.firstAtMs;
}

/** Counts starts of handlers and tells when the first and the last of an expected number were seen. */
export class StartCounter {
  readonly all: Promise<void>;
  firstAtMs = 0;
  #left: number;
  #reachedAll: () => void = () => {};

  constructor(expected: number) {
    this.#left = expected;
    this.all = new Promise((resolve) => (this.#reachedAll = resolve));
  }

  /** A handler starts. */
  count(): void {
    if (this.firstAtMs === 0) this.firstAtMs = performance.now();
    this.#left -= 1;
    if (this.#left === 0) this.#reachedAll();
  }
}

/** Asks until the answer is yes, and gives the time of it. The bound ends a bench that would hang. */
export async function untilTrue(question: () => Promise<boolean>, boundMs = 120_000): Promise<number> {
  const startedMs = performance.now();
  while (!(await question())) {
    if (performance.now() - startedMs > boundMs)
      throw new Error(`not reached within ${boundMs} ms: ${question.toString()}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  return performance.now();
}
