import { Client } from 'pg';
import { afterAll } from 'vitest';
import { type Growth, startGrowth } from '../../examples/growth-backend/start-growth.ts';
import type { TestServer } from '../support/needs.ts';

/** The servers the example runs on. */
type Servers = Readonly<Record<'postgres' | 'redis', TestServer>>;

/** Starts the example once for all tests of a file, on a database and streams of its own; it ends after the last of them. */
export function sharedGrowth(): (servers: Servers) => Promise<Growth> {
  const started: (() => Promise<unknown>)[] = [];
  let growth: Promise<Growth> | undefined;
  afterAll(async () => {
    for (const end of started.toReversed()) await end();
  });
  return (servers) => (growth ??= start(servers, started));
}

async function start({ postgres, redis }: Servers, started: (() => Promise<unknown>)[]): Promise<Growth> {
  const databaseUrl = await ownDatabase(postgres, started);
  const running = await startGrowth({ databaseUrl, redisUrl: redis.url, prefix: `${redis.namespace}:`, speed: 100 });
  started.push(() => running.stop());
  return running;
}

async function ownDatabase({ url, namespace }: TestServer, started: (() => Promise<unknown>)[]): Promise<string> {
  const admin = new Client({ connectionString: url });
  await admin.connect();
  await admin.query(`create database ${namespace}_growth`);
  started.push(async () => {
    await admin.query(`drop database ${namespace}_growth with (force)`);
    await admin.end();
  });
  const own = new URL(url);
  own.pathname = `/${namespace}_growth`;
  own.search = '';
  return own.href;
}
