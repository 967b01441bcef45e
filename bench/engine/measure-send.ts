import type { Pool, PoolClient } from 'pg';
import { contestantOf } from '../result/contestant.ts';
import { perSecond } from '../result/format.ts';
import { judge, judgeValue } from '../result/judge.ts';
import { quantile } from '../result/quantile.ts';
import type { Result } from '../result/result.ts';
import type { Bench } from './bench.ts';
import { poolOn, settleDown } from './bench-database.ts';
import { clearHoldfast, EVENTS, handleOrders, inTransaction, prepareHoldfast, relayOn } from './holdfast-queue.ts';
import { orders, untilTrue, type Order } from './queue.ts';

const CONNECTIONS = 16;

/** One message in a transaction of its own, from 16 connections at once, against an insert into a table with one index. */
export async function singleSend(bench: Bench): Promise<Result[]> {
  const { database, isQuick, say } = bench;
  await prepareHoldfast(database);
  await database.admin.query(
    'create table plain (id bigint generated always as identity primary key, payload jsonb not null)',
  );
  const pool = poolOn(database.url, CONNECTIONS);
  const relay = relayOn(pool);
  const contestants = {
    holdfast: (tx: PoolClient, order: Order) => relay.send(tx, EVENTS.nothing, order),
    plain: (tx: PoolClient, order: Order) =>
      tx.query('insert into plain (payload) values ($1)', [JSON.stringify(order)]),
  };
  const rates: Record<keyof typeof contestants, number[]> = { holdfast: [], plain: [] };
  const rounds = isQuick ? 1 : 5;
  for (let round = 0; round <= rounds; round++) {
    for (const name of round % 2 === 0 ? (['holdfast', 'plain'] as const) : (['plain', 'holdfast'] as const)) {
      await settleDown(database);
      const rate = await rateOf(pool, isQuick ? 1_000 : 4_000, contestants[name]);
      say(`  ${round === 0 ? 'warm-up' : `round ${round}`}: ${name} ${perSecond(rate)}`);
      if (round > 0) rates[name].push(rate);
    }
  }
  await clearHoldfast(pool);
  await pool.end();
  const ours = contestantOf({ name: 'holdfast', role: 'ours', rounds: rates.holdfast });
  const plain = contestantOf({ name: 'plain insert', role: 'bare', rounds: rates.plain });
  return [
    {
      id: 'send',
      measure: `one send in its own transaction, ${CONNECTIONS} at once`,
      contestants: [ours, plain],
      verdicts: [judge(ours, [plain], 0.75)],
    },
  ];
}

async function rateOf(
  pool: Pool,
  ms: number,
  send: (tx: PoolClient, order: Order) => Promise<unknown>,
): Promise<number> {
  const endMs = performance.now() + ms;
  let sent = 0;
  const sender = async (): Promise<void> => {
    while (performance.now() < endMs) {
      const [order] = orders(sent, 1);
      if (order) await inTransaction(pool, (tx) => send(tx, order));
      sent += 1;
    }
  };
  const startedMs = performance.now();
  await Promise.all(Array.from({ length: CONNECTIONS }, sender));
  return (sent / (performance.now() - startedMs)) * 1_000;
}

/** From asking for the commit to the start of the handler, while the worker sleeps. */
export async function wakeUp({ database, isQuick, say }: Bench): Promise<Result[]> {
  await prepareHoldfast(database);
  const pool = poolOn(database.url, 10);
  const relay = relayOn(pool);
  const startedMs: number[] = [];
  handleOrders(relay, ({ total }) => (startedMs[total] = performance.now()));
  const running = await relay.start();
  const isAsleep = async (): Promise<boolean> =>
    (await database.admin.query('select 1 from holdfast.waiter')).rows.length > 0;
  const waits: number[] = [];
  for (let i = 0; i < (isQuick ? 30 : 300); i++) {
    await untilTrue(isAsleep);
    // Spread over whatever the worker does at intervals.
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 60));
    const [order] = orders(i, 1);
    if (!order) continue;
    let commitMs = 0;
    await inTransaction(pool, async (tx) => {
      await relay.send(tx, EVENTS.nothing, order);
      commitMs = performance.now();
    });
    await untilTrue(async () => startedMs[i] !== undefined);
    waits.push((startedMs[i] ?? Number.NaN) - commitMs);
  }
  await running.stop();
  await clearHoldfast(pool);
  await pool.end();
  say(`  ${waits.length} wake-ups, longest ${Math.max(...waits).toFixed(1)} ms`);
  const [p50, p99] = [quantile(waits, 0.5), quantile(waits, 0.99)];
  return [
    {
      id: 'wake-up',
      measure: 'from the commit to the start of the handler, while the worker sleeps',
      contestants: [
        contestantOf({ name: 'holdfast, p50', role: 'ours', unit: 'ms', rounds: [p50] }),
        contestantOf({ name: 'holdfast, p99', role: 'ours', unit: 'ms', rounds: [p99] }),
      ],
      verdicts: [judgeValue(p50, '≤', 5, 'ms', 'p50'), judgeValue(p99, '≤', 25, 'ms', 'p99')],
    },
  ];
}
