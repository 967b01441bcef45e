import type { Pool } from 'pg';
import { outgoing } from 'holdfast';
import { contestantOf } from '../result/contestant.ts';
import { perSecond } from '../result/format.ts';
import { judge } from '../result/judge.ts';
import type { Result } from '../result/result.ts';
import type { Bench } from './bench.ts';
import { poolOn, settleDown, type BenchDatabase } from './bench-database.ts';
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
export async function heldTransaction({ database, isQuick, say }: Bench): Promise<Result[]> {
  const seconds = isQuick ? 2 : 60;
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
  const ours = contestantOf({ name: 'holdfast, beside it', role: 'ours', rounds: [held.rate] });
  const usual = contestantOf({ name: 'holdfast, without', role: 'usual', rounds: [alone.rate] });
  const verdict = judge(ours, [usual], 0.9);
  return [
    {
      id: 'held-transaction',
      measure: `a steady flow beside a writer that is open for ${seconds} s, against one without`,
      contestants: [ours, usual],
      verdicts: [
        { ...verdict, goal: '≥ 0.9, none skipped', isReached: verdict.isReached === true && held.missing === 0 },
      ],
      note: `Of ${held.sent.toLocaleString('en')} messages ${held.missing} were skipped and ${held.doubled} ran twice.`,
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
export async function blockedKey({ database, isQuick, say }: Bench): Promise<Result[]> {
  const [behind, others] = isQuick ? [3_000, 3_000] : [100_000, 100_000];
  await prepareHoldfast(database);
  const pool = poolOn(database.url, 20);
  const rates: Record<'free' | 'blocked', number[]> = { free: [], blocked: [] };
  for (let round = 0; round <= (isQuick ? 1 : 3); round++) {
    for (const kind of round % 2 === 0 ? (['free', 'blocked'] as const) : (['blocked', 'free'] as const)) {
      if (kind === 'blocked') await fillHoldfast(pool, behind, 'nothing', () => BLOCKED);
      await fillHoldfast(pool, others, 'nothing');
      await settleDown(database);
      const rate = await rateOfOthers(pool, others);
      say(`  ${round === 0 ? 'warm-up' : `round ${round}`}: ${kind} ${perSecond(rate)}`);
      if (round > 0) rates[kind].push(rate);
      await clearHoldfast(pool);
    }
  }
  await pool.end();
  const ours = contestantOf({ name: 'holdfast, beside it', role: 'ours', rounds: rates.blocked });
  const usual = contestantOf({ name: 'holdfast, without', role: 'usual', rounds: rates.free });
  return [
    {
      id: 'blocked-key',
      measure: `one blocked key with ${behind.toLocaleString('en')} messages behind it: the drain of all other keys, against one without`,
      contestants: [ours, usual],
      verdicts: [judge(ours, [usual], 0.95)],
      note: 'By a process that has just started, so its one walk past those messages is timed too.',
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
