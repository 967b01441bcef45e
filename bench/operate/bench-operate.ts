import { migrate, postgresOperator } from 'holdfast/postgres';
import type { Pool } from 'pg';
import { type BenchDatabase, findBenchServer, poolOn } from '../engine/bench-database.ts';
import type { Result } from '../result/result.ts';
import type { Topic } from '../topic.ts';
import { startApi } from './api-client.ts';
import type { Examples } from './api-questions.ts';
import { apiReads, operationsOf } from './api-reads.ts';
import { apiWrites } from './api-writes.ts';
import { benchHostile } from './bench-hostile.ts';
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
 * `npm run bench -- operate [calls|replay|hostile …] [--quick]`: times every call of the operator and of its API over a large database. What only
 * runs when it is named: replays all dead letters of one while its processes are killed, and asks a server under hostile connections.
 */
export const OPERATE: Topic = {
  name: 'operate',
  title: 'Operating it',
  measures: ['calls', 'replay', 'hostile'],
  options: ['delivered', 'dead', 'rounds', 'random'],
  minutes: { full: 4, quick: 1 },
  packages: ['pg'],
  async run({ measures, isQuick, values, say }) {
    const dead = Number(values['dead'] ?? (isQuick ? 2_000 : 50_000));
    const delivered = Number(values['delivered'] ?? (isQuick ? 20_000 : 1_000_000));
    const rounds = Number(values['rounds'] ?? (isQuick ? 5 : 40));
    const server = await findBenchServer();
    const results: Result[] = [];
    try {
      for (const name of measures.length > 0 ? measures : ['calls']) {
        say(name);
        const database = await server.open();
        try {
          if (name === 'replay') results.push(await benchReplay(database, { dead, random: values['random'], say }));
          else if (name === 'hostile') results.push(...(await benchHostile(database, rounds)));
          else results.push(...(await benchCalls(database, { delivered, dead, rounds }, say)));
        } finally {
          await database.close();
        }
      }
    } finally {
      await server.close();
    }
    return { settings: { ...server.settings, delivered, dead, rounds }, results };
  },
};

async function benchCalls(
  { url }: BenchDatabase,
  { delivered, dead, rounds }: Numbers,
  say: (line: string) => void,
): Promise<Result[]> {
  const pool = poolOn(url, 4);
  const api = await startApi(url);
  try {
    const client = await pool.connect();
    await migrate(client);
    client.release();
    say(`  seeding ${delivered} delivered messages and ${dead} dead letters`);
    await seed(pool, { delivered, dead });
    const operations = await operationsOf(api);
    const reads = await apiReads(api, operations, await examples(pool), rounds);
    const writes = await apiWrites(api, operations, pool, { quick: rounds, bulk: Math.ceil(rounds * 0.6) });
    return [
      ...(await measureCalls('the operator itself', await operatorCalls(postgresOperator({ pool }), rounds))),
      ...(await measureCalls('reads over HTTP', reads)),
      ...(await measureCalls('writes over HTTP', writes)),
    ];
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
