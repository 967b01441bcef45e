import type { Pool } from 'pg';
import { outgoing } from 'holdfast';
import { poolOn, settleDown, type BenchDatabase } from './bench-database.ts';
import { median, perSecond, type Bench, type Finding } from './finding.ts';
import {
  clearHoldfast,
  EVENTS,
  fillHoldfast,
  inTransaction,
  isDrained,
  prepareHoldfast,
  relayOn,
} from './holdfast-queue.ts';
import { BULK, orders, StartCounter, untilTrue } from './queue.ts';
import { startWorker, type WorkerChild } from './worker-child.ts';

/** How many messages may be sent and not yet handled in a steady flow. */
const MOST_OPEN = 20_000;
/** How many messages the transaction that is held open sends itself. */
const HELD = 100;

/** A steady flow of messages, once alone and once while a transaction that wrote stays open: for that long. */
export async function heldTransaction({ database, isQuick, say }: Bench): Promise<Finding[]> {
  const seconds = isQuick ? 5 : 60;
  await prepareHoldfast(database);
  const pool = poolOn(database.url, 4);
  const alone = await flowFor(database, pool, seconds, false);
  say(`  alone: ${perSecond(alone.rate)}`);
  await clearHoldfast(pool);
  await settleDown(database);
  const held = await flowFor(database, pool, seconds, true);
  say(`  with an open transaction: ${perSecond(held.rate)}, ${held.missing} skipped, ${held.doubled} started twice`);
  await clearHoldfast(pool);
  await pool.end();
  const ratio = held.rate / alone.rate;
  const ours = `${perSecond(held.rate)}, ${held.missing} of ${held.sent} skipped`;
  const isReached = ratio >= 0.9 && held.missing === 0;
  return [
    {
      measure: `a writer open for ${seconds} s`,
      ours,
      others: `${perSecond(alone.rate)} without`,
      ratio,
      goal: '≥ 90 %, none skipped',
      isReached,
    },
  ];
}

interface Flow {
  readonly rate: number;
  readonly sent: number;
  readonly missing: number;
  readonly doubled: number;
}

/** Sends as fast as the worker handles, for that long; then waits for the rest. */
async function flowFor(database: BenchDatabase, pool: Pool, seconds: number, isHeld: boolean): Promise<Flow> {
  const relay = relayOn(pool);
  const worker = startWorker(database);
  const holder = await pool.connect();
  await holder.query('begin');
  if (isHeld)
    await relay.sendAll(
      holder,
      orders(0, HELD).map((order) => outgoing(EVENTS.nothing, order)),
    );
  let sent = HELD;
  await sendBulk(pool, sent);
  sent += BULK;
  await untilTrue(async () => worker.last.started > 0);
  const [startedMs, startedAt] = [performance.now(), worker.last.started];
  while (performance.now() - startedMs < seconds * 1_000) {
    await roomFor(worker, sent);
    await sendBulk(pool, sent);
    sent += BULK;
  }
  const rate = ((worker.last.started - startedAt) / (performance.now() - startedMs)) * 1_000;
  if (!isHeld)
    await relay.sendAll(
      holder,
      orders(0, HELD).map((order) => outgoing(EVENTS.nothing, order)),
    );
  await holder.query('commit');
  holder.release();
  worker.expect(sent);
  await untilTrue(() => isDrained(pool));
  const { missing, doubled } = await worker.stop();
  return { rate, sent, missing, doubled };
}

function roomFor(worker: WorkerChild, sent: number): Promise<number> {
  return untilTrue(async () => sent - worker.last.started < MOST_OPEN);
}

async function sendBulk(pool: Pool, from: number): Promise<void> {
  const relay = relayOn(pool);
  await inTransaction(pool, (tx) =>
    relay.sendAll(
      tx,
      orders(from, BULK).map((order) => outgoing(EVENTS.nothing, order)),
    ),
  );
}

/** Many messages behind one that has failed for good; all other keys beside them, against the same without. */
export async function blockedKey({ database, isQuick, say }: Bench): Promise<Finding[]> {
  const [behind, others] = isQuick ? [10_000, 10_000] : [100_000, 100_000];
  await prepareHoldfast(database);
  const pool = poolOn(database.url, 20);
  const rates: Record<'free' | 'blocked', number[]> = { free: [], blocked: [] };
  for (let round = 0; round <= (isQuick ? 1 : 3); round++) {
    for (const kind of round % 2 === 0 ? (['free', 'blocked'] as const) : (['blocked', 'free'] as const)) {
      if (kind === 'blocked') await fillHoldfast(pool, behind, 'nothing', BLOCKED);
      await fillHoldfast(pool, others, 'nothing');
      await settleDown(database);
      const rate = await rateOfOthers(pool, others);
      say(`  ${round === 0 ? 'warm-up' : `round ${round}`}: ${kind} ${perSecond(rate)}`);
      if (round > 0) rates[kind].push(rate);
      await clearHoldfast(pool);
    }
  }
  await pool.end();
  const [free, blocked] = [median(rates.free), median(rates.blocked)];
  const ratio = blocked / free;
  const measure = `one blocked key, ${behind} behind it: the others`;
  return [
    {
      measure,
      ours: perSecond(blocked),
      others: `${perSecond(free)} without`,
      ratio,
      goal: '≥ 95 %',
      isReached: ratio >= 0.95,
    },
  ];
}

const BLOCKED = 'ord_blocked';

async function rateOfOthers(pool: Pool, others: number): Promise<number> {
  const starts = new StartCounter(others);
  const relay = relayOn(pool);
  relay.on(EVENTS.nothing, 'ship', ({ orderId }) => {
    if (orderId === BLOCKED) throw new TypeError('this order cannot be shipped');
    starts.count();
  });
  const running = await relay.start();
  await starts.all;
  const isDone = async (): Promise<boolean> =>
    (await pool.query('select 1 from holdfast.delivery where key <> $1 limit 1', [BLOCKED])).rows.length === 0;
  const endedMs = await untilTrue(isDone);
  await running.stop();
  return (others / (endedMs - starts.firstAtMs)) * 1_000;
}
