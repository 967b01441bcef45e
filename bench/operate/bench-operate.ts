import { parseArgs } from 'node:util';
import { migrate, postgresOperator } from 'holdfast/postgres';
import { findBenchServer, poolOn } from '../engine/bench-database.ts';
import { type NamedCall, operatorCalls } from './operator-calls.ts';
import { seed } from './seed.ts';

const GOAL_MS = 300;

/** Times every read of the operator over a large database. Answers the exit code: 1 when a call misses the goal. */
export async function benchOperate(args: string[]): Promise<number> {
  const { values } = parseArgs({
    args,
    options: {
      delivered: { type: 'string', default: '1000000' },
      dead: { type: 'string', default: '50000' },
      rounds: { type: 'string', default: '20' },
    },
  });
  const size = { delivered: Number(values.delivered), dead: Number(values.dead) };
  const server = await findBenchServer();
  try {
    const database = await server.open();
    const pool = poolOn(database.url, 4);
    try {
      const client = await pool.connect();
      await migrate(client);
      client.release();
      console.log(`seeding ${size.delivered} delivered messages and ${size.dead} dead letters`);
      await seed(pool, size);
      const calls = await operatorCalls(postgresOperator({ pool }));
      return await measureCalls(calls, Number(values.rounds));
    } finally {
      await pool.end();
      await database.close();
    }
  } finally {
    await server.close();
  }
}

/** Each call in turn, round by round, so that a noisy moment meets all of them. */
async function measureCalls(calls: readonly NamedCall[], rounds: number): Promise<number> {
  const times = new Map(calls.map(({ name }) => [name, [] as number[]]));
  for (let round = 0; round < rounds; round++) {
    for (const { name, run } of calls) {
      const before = performance.now();
      await run();
      times.get(name)?.push(performance.now() - before);
    }
  }
  const width = Math.max(...calls.map(({ name }) => name.length));
  let missed = 0;
  for (const [name, samples] of times) {
    const sorted = samples.toSorted((a, b) => a - b);
    const at = (part: number): number => sorted[Math.ceil(sorted.length * part) - 1] ?? Number.NaN;
    const isMissed = at(0.95) >= GOAL_MS;
    if (isMissed) missed += 1;
    const verdict = isMissed ? 'MISSED' : 'ok';
    console.log(
      `${name.padEnd(width)}  p50 ${at(0.5).toFixed(0).padStart(5)} ms  p95 ${at(0.95).toFixed(0).padStart(5)} ms  ${verdict}`,
    );
  }
  console.log(`\ngoal: p95 under ${GOAL_MS} ms for every call: ${missed === 0 ? 'reached' : `${missed} MISSED`}`);
  return missed === 0 ? 0 : 1;
}
