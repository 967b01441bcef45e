import { Redis } from 'ioredis';
import { Client } from 'pg';
import { expect, onTestFinished } from 'vitest';
import { migrate } from '../../src/postgres/index.ts';
import { privateRedis } from '../idempotency-stores/private-redis.ts';
import { amount } from '../support/amount.ts';
import { needs, type TestServer } from '../support/needs.ts';
import { JobSender, jobs, sendAll, type Sendings } from './job-sender.ts';
import { JobServerProcess } from './job-server-process.ts';

const test = needs('postgres', 'redisServer');

let schemas = 0;

interface Effects {
  readonly url: string;
  readonly schema: string;
  /** How many different lines were written, and how many in all. */
  count(): Promise<{ readonly lines: number; readonly effects: number }>;
}

/** A table without any key: a second effect would be seen. */
async function effectTable({ url, namespace }: TestServer): Promise<Effects> {
  const schema = `${namespace}_${(schemas += 1)}`;
  const admin = new Client({ connectionString: url });
  await admin.connect();
  onTestFinished(async () => {
    await admin.query(`drop schema ${schema} cascade`);
    await admin.end();
  });
  await migrate(admin, { schema });
  await admin.query(`create table ${schema}.effect (line text not null)`);
  return {
    url,
    schema,
    count: async () => {
      const { rows } = await admin.query<{ lines: number; effects: number }>(
        `select count(distinct line)::int lines, count(*)::int effects from ${schema}.effect`,
      );
      return rows[0] as { lines: number; effects: number };
    },
  };
}

/** Otherwise nothing was put to the test. */
function expectTrouble(servers: readonly JobServerProcess[], { suppressed, replaysRefused, statuses }: Sendings): void {
  const kills = servers.reduce((sum, server) => sum + server.kills, 0);
  expect(kills).toBeGreaterThan(0);
  expect(suppressed).toBeGreaterThan(50);
  expect(replaysRefused).toBeGreaterThan(5);
  expect(statuses.get(500)).toBeGreaterThan(5);
  expect(statuses.get('cut')).toBeGreaterThan(0);
}

test(
  'of many signed jobs with crashes and duplicates on PostgreSQL, each takes effect exactly once [S3.3] [S3.5]',
  { timeout: 600_000 },
  async ({ postgres }) => {
    const { url, schema, count } = await effectTable(postgres);
    const options = { url, schema, store: 'postgres', kills: 8, throws: 20 } as const;
    const servers = await Promise.all([1, 2].map(() => JobServerProcess.start(options)));
    const sender = new JobSender(servers.map((server) => server.url));
    const all = amount(300, 1_000);
    await sendAll(sender, jobs(all));
    expect(await count()).toEqual({ lines: all, effects: all });
    expectTrouble(servers, sender.seen);
  },
);

test(
  'of thousands of signed jobs with crashes, duplicates and Redis stopped and hung in the middle, each takes effect exactly once [S3.3] [S3.5]',
  { timeout: 600_000 },
  async ({ postgres, redisServer }) => {
    const { url, schema, count } = await effectTable(postgres);
    const redis = await privateRedis(redisServer.url);
    const options = { url, schema, store: 'layered', redisUrl: redis.url, kills: 3, throws: 12 } as const;
    const servers = await Promise.all([1, 2].map(() => JobServerProcess.start(options)));
    const sender = new JobSender(servers.map((server) => server.url));
    const troubles: Promise<unknown>[] = [];
    const fifth = amount(120, 1_000);
    await sendAll(sender, jobs(5 * fifth), (done) => {
      if (done === fifth) troubles.push(redis.kill());
      if (done === 2 * fifth) troubles.push(Promise.all(troubles).then(() => redis.start()));
      if (done === 3 * fifth) redis.hang();
      if (done === 4 * fifth) redis.goOn();
    });
    await Promise.all(troubles);
    expect(await count()).toEqual({ lines: 5 * fifth, effects: 5 * fifth });
    expectTrouble(servers, sender.seen);
    const client = new Redis(redis.url);
    onTestFinished(() => client.disconnect());
    expect(await client.dbsize()).toBeGreaterThan(fifth);
  },
);

test(
  'with Redis alone nothing is done while it is stopped or hung, and everything once afterwards [S3.3]',
  { timeout: 600_000 },
  async ({ postgres, redisServer }) => {
    const { url, schema, count } = await effectTable(postgres);
    const redis = await privateRedis(redisServer.url);
    const options = { url, schema, store: 'redis', redisUrl: redis.url, kills: 0, throws: 0 } as const;
    const servers = await Promise.all([1, 2].map(() => JobServerProcess.start(options)));
    const sender = new JobSender(servers.map((server) => server.url));
    await sendAll(sender, jobs(100, 'before'));
    const away = [
      { stop: () => redis.kill(), goOn: () => redis.start() },
      { stop: async () => redis.hang(), goOn: async () => redis.goOn() },
    ];
    let done = 100;
    for (const [at, { stop, goOn }] of away.entries()) {
      await stop();
      const waiting = jobs(50, `away-${at}`);
      const statuses = await Promise.all(waiting.map((job) => sender.deliver(job)));
      expect(new Set(statuses)).toEqual(new Set([503]));
      expect(await count()).toEqual({ lines: done, effects: done });
      await goOn();
      await sendAll(sender, waiting);
      done += 50;
      expect(await count()).toEqual({ lines: done, effects: done });
    }
    // And in the middle of what runs.
    const troubles: Promise<unknown>[] = [];
    const during = amount(300, 600);
    await sendAll(sender, jobs(during, 'during'), (sent) => {
      // Not before somebody is refused, so that it is gone while jobs come.
      if (sent === 100) troubles.push(redis.kill().then(() => redis.start()));
      if (sent === 200) troubles.push(hangUntilRefused());
    });
    await Promise.all(troubles);
    expect(await count()).toEqual({ lines: done + during, effects: done + during });
    expect(sender.seen.suppressed).toBeGreaterThan(50);

    async function hangUntilRefused(): Promise<void> {
      const before = sender.seen.statuses.get(503) ?? 0;
      redis.hang();
      await expect.poll(() => sender.seen.statuses.get(503)).toBeGreaterThan(before);
      redis.goOn();
    }
  },
);
