import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Operator } from 'holdfast/operator';
import type { DrillStage } from 'holdfast/drills';
import { postgresOperator } from 'holdfast/postgres';
import { Client, Pool } from 'pg';
import { Environment } from '../../local-processes/environment.ts';
import { findPostgres } from '../../local-processes/find-postgres.ts';
import { findRedis } from '../../local-processes/find-redis.ts';
import { type Growth, startGrowth } from '../start-growth.ts';

/** The example, started for drills, and what an operator can do. */
export interface DrilledGrowth extends Growth {
  readonly operator: Operator;
}

/** What operators are told of who did it. */
export const BY = { actor: 'drill', reason: 'what was broken is mended' } as const;

const ends: (() => Promise<unknown>)[] = [];

/**
 * All processes of the example, on a database and streams of their own, which are gone afterwards: a drill disturbs nobody, and can be
 * repeated at will. Waits are twenty times shorter than real, or as `GROWTH_SPEED` says.
 */
export const growthStage: DrillStage<DrilledGrowth> = {
  open: async () => {
    try {
      return await open();
    } catch (error) {
      await endAll();
      throw error;
    }
  },
  close: endAll,
};

async function open(): Promise<DrilledGrowth> {
  const { env } = process;
  const read = new Environment(env);
  const speed = read.number('GROWTH_SPEED', 20, [1, 1_000]);
  read.check();
  // Not .holdfast: the example may be running on it, and so may other drills.
  const dataDir = await mkdtemp(join(tmpdir(), 'growth-drill-'));
  const remove = (): void => rmSync(dataDir, { recursive: true, force: true, maxRetries: 10 });
  ends.push(async () => remove());
  const name = `growth_drill_${randomBytes(4).toString('hex')}`;
  const database = await findPostgres(env['DATABASE_URL'], join(dataDir, 'postgres'));
  ends.push(database.stop);
  const redis = await findRedis(env['REDIS_URL'], join(dataDir, 'redis'));
  ends.push(redis.stop);
  // A second Ctrl-C ends the process at once; what was started above is killed first.
  process.once('exit', remove);
  const databaseUrl = await ownDatabase(database.url, name);
  const growth = await startGrowth({
    databaseUrl,
    redisUrl: redis.url,
    prefix: `${name}:`,
    speed,
    dataDir: join(dataDir, 'partners'),
  });
  ends.push(() => growth.stop());
  ends.push(() => growth.redis.del(growth.streams.events, growth.streams.dead));
  const pool = new Pool({ connectionString: databaseUrl, max: 2 });
  pool.on('error', () => undefined);
  ends.push(() => pool.end());
  return { ...growth, operator: postgresOperator({ pool }) };
}

async function ownDatabase(url: string, name: string): Promise<string> {
  const admin = new Client({ connectionString: url });
  await admin.connect();
  await admin.query(`create database ${name}`);
  ends.push(async () => {
    await admin.query(`drop database ${name} with (force)`);
    await admin.end();
  });
  const own = new URL(url);
  own.pathname = `/${name}`;
  own.search = '';
  return own.href;
}

async function endAll(): Promise<void> {
  for (let end = ends.pop(); end; end = ends.pop()) await end();
}
