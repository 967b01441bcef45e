import { availableParallelism, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { migrate, postgresOperator } from 'holdfast/postgres';
import type { Pool } from 'pg';
import { type BenchDatabase, findBenchServer, poolOn } from '../engine/bench-database.ts';
import { startApi } from './api-client.ts';
import type { Examples } from './api-questions.ts';
import { apiReads, operationsOf } from './api-reads.ts';
import { apiWrites } from './api-writes.ts';
import { measureCalls } from './measure-calls.ts';
import { operatorCalls } from './operator-calls.ts';
import { benchReplay } from './replay/bench-replay.ts';
import { seed } from './seed.ts';

interface Numbers {
  readonly delivered: number;
  readonly dead: number;
  readonly rounds: number;
}

/**
 * `npm run bench -- operate [replay] [--quick]`: times every call of the operator and of its API over a large database, or replays all
 * dead letters of one while its processes are killed. Answers the exit code: 1 when a goal is missed.
 */
export async function benchOperate(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      quick: { type: 'boolean', default: false },
      delivered: { type: 'string' },
      dead: { type: 'string' },
      rounds: { type: 'string', default: '40' },
      random: { type: 'string' },
    },
  });
  const unknown = positionals.find((name) => name !== 'replay');
  if (unknown !== undefined) {
    console.error(`There is no measure "${unknown}"; there is: replay`);
    return 2;
  }
  const dead = Number(values.dead ?? (values.quick ? 2_000 : 50_000));
  const server = await findBenchServer();
  try {
    console.log(`Node ${process.version}, PostgreSQL ${server.settings['server_version']}, ${machineLoad()}`);
    const database = await server.open();
    try {
      if (positionals.length > 0) return await benchReplay(database, { dead, random: values.random });
      const delivered = Number(values.delivered ?? (values.quick ? 20_000 : 1_000_000));
      return await benchCalls(database, { delivered, dead, rounds: Number(values.rounds) });
    } finally {
      await database.close();
      console.log(machineLoad());
    }
  } finally {
    await server.close();
  }
}

function machineLoad(): string {
  const [one = 0, five = 0] = loadavg();
  return `${availableParallelism()} cores, load ${one.toFixed(1)} (${five.toFixed(1)} over five minutes)`;
}

async function benchCalls({ url }: BenchDatabase, { delivered, dead, rounds }: Numbers): Promise<number> {
  const pool = poolOn(url, 4);
  const api = await startApi(url);
  try {
    const client = await pool.connect();
    await migrate(client);
    client.release();
    console.log(`seeding ${delivered} delivered messages and ${dead} dead letters`);
    await seed(pool, { delivered, dead });
    const operations = await operationsOf(api);
    const reads = await apiReads(api, operations, await examples(pool), rounds);
    const writes = await apiWrites(api, operations, pool, { quick: rounds, bulk: Math.ceil(rounds * 0.6) });
    const missed = [
      await measureCalls('the operator itself', await operatorCalls(postgresOperator({ pool }), rounds)),
      await measureCalls('reads over HTTP', reads),
      await measureCalls('writes over HTTP', writes),
    ];
    return missed.some((count) => count > 0) ? 1 : 0;
  } finally {
    api.close();
    await pool.end();
  }
}

async function examples(pool: Pool): Promise<Examples> {
  const one = async (statement: string): Promise<string> =>
    (await pool.query<{ value: string }>(statement)).rows[0]?.value ?? '';
  return {
    letter: await one(
      `select id || ':' || handler as value from holdfast.delivery where state = 2 and holds order by failed_at limit 1`,
    ),
    message: await one(`select id as value from holdfast.delivered where correlation_id is not null limit 1`),
    group: await one(`select id as value from holdfast.error_group limit 1`),
    bulk: await one(`select bulk as value from holdfast.bulk_item limit 1`),
  };
}
