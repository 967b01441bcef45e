import { drizzle } from 'drizzle-orm/postgres-js';
import { Pool, type PoolClient } from 'pg';
import postgresJs from 'postgres';
import { describe, expect, onTestFinished } from 'vitest';
import { TcpProxy } from '../../src/chaos/tcp-proxy.ts';
import { type PostgresJsInside, postgresJsDriver } from '../../src/postgres/driver/postgres-js-driver.ts';
import { postgres } from '../../src/postgres/index.ts';
import { sqlRunner } from '../../src/postgres/sql-runner.ts';
import type { RelayStore } from '../../src/relay/relay-store.ts';
import { systemEffects } from '../../src/system/effects.ts';
import { needs, type TestServer } from '../support/needs.ts';
import { connect, freshSchema } from './support/fresh-schema.ts';
import { join, message, own } from './support/worker.ts';

const test = needs('postgres');

// The last thing that is asked of the connection that listens, before and after it holds its lock.
const LISTENS = `(query ilike 'listen%' or query like '%pg_try_advisory_lock(%')`;

interface ClientCase {
  readonly name: string;
  open(server: TestServer, schema: string): { store: RelayStore<unknown>; send(): Promise<void> };
}

const CLIENTS: readonly ClientCase[] = [
  {
    name: 'pg',
    open: (server, schema) => {
      const pool = new Pool({ connectionString: server.url, application_name: schema });
      pool.on('error', () => undefined);
      onTestFinished(() => pool.end());
      const store = postgres({ pool, schema });
      const send = async (): Promise<void> => {
        const tx: PoolClient = await pool.connect();
        await tx.query('begin');
        await store.append(tx, [message({ key: 'k' })]);
        await tx.query('commit');
        tx.release();
      };
      return { store, send };
    },
  },
  {
    name: 'postgres.js',
    open: (server, schema) => {
      const sql = postgresJs(server.url, { connection: { application_name: schema }, transform: postgresJs.camel });
      // Without a limit it waits for ever once a connection of its was cut.
      onTestFinished(() => sql.end({ timeout: 1 }));
      const store = postgres({ pool: sql, schema });
      const send = async (): Promise<void> => {
        await sql.begin((tx) => store.append(tx, [message({ key: 'k' })]));
      };
      return { store, send };
    },
  },
];

for (const { name, open } of CLIENTS) {
  describe(`a session over ${name}`, () => {
    test('opens anew what the server ended, and no error is left without a listener', async ({ postgres: server }) => {
      const schema = await freshSchema(server);
      const admin = await connect(server);
      const { store, send } = open(server, schema);
      const worker = await own(store);
      await worker.read();
      for (let i = 0; i < 3; i += 1) {
        await endSessions(admin, schema);
        const alive = (): Promise<unknown> => worker.session.beat(worker.id, 60_000, []).catch(() => 'lost');
        await expect.poll(alive).toBe(true);
      }
      await expect
        .poll(() =>
          send().then(
            () => 'sent',
            () => 'lost',
          ),
        )
        .toBe('sent');
      const found = (): Promise<number> =>
        worker.read().then(
          ({ ready }) => ready.length,
          () => 0,
        );
      await expect.poll(found).toBeGreaterThan(0);
    });

    test('hears senders while it dozes, also after its listening connection was ended [S4.6]', async ({
      postgres: server,
    }) => {
      const schema = await freshSchema(server);
      const admin = await connect(server);
      const { store, send } = open(server, schema);
      const worker = await join(store);
      let wakes = 0;
      expect(await worker.session.listen((news) => void (news === 'messages' && (wakes += 1)))).toBe(true);
      await worker.session.doze(worker.id);
      await send();
      await expect.poll(() => wakes).toBe(1);
      const ended = await admin.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1 and ${LISTENS}`,
        [schema],
      );
      expect(ended.rowCount).toBe(1);
      const listens = async (): Promise<number | null> =>
        (await admin.query(`select from pg_stat_activity where application_name = $1 and ${LISTENS}`, [schema]))
          .rowCount;
      await expect.poll(listens).toBe(1);
      const before = wakes;
      await expect
        .poll(() =>
          send().then(
            () => wakes > before,
            () => false,
          ),
        )
        .toBe(true);
      await worker.session.rouse(worker.id);
    });

    test('can be closed twice, and refuses calls after that', async ({ postgres: server }) => {
      const schema = await freshSchema(server);
      const { store } = open(server, schema);
      const worker = await join(store);
      await worker.session.close();
      await worker.session.close();
      await expect(worker.session.survey(worker.id)).rejects.toThrow('closed');
    });
  });
}

test('rows that postgres.js receives after its connection was lost in the middle of others stand first', async ({
  postgres: server,
}) => {
  const sql = postgresJs(server.url, { max: 1, prepare: false });
  onTestFinished(() => sql.end({ timeout: 1 }));
  const driver = postgresJsDriver(sql as unknown as PostgresJsInside, systemEffects);
  const lose = async (): Promise<unknown> =>
    sql`select n, case when n = 5000 then pg_terminate_backend(pg_backend_pid()) end from generate_series(1, 50000) as n`.catch(
      (error: unknown) => error,
    );
  const askAgain = async (ask: () => Promise<unknown>): Promise<unknown> => {
    expect(await lose()).toMatchObject({ code: expect.stringMatching(/57P01|CONNECTION_CLOSED/) });
    // Until its socket is closed the lost connection is given out again, and fails again.
    for (;;) {
      const answer = await ask().catch(() => undefined);
      if (answer !== undefined) return answer;
    }
  };
  const link = driver.link();
  expect(await askAgain(() => link.query('select 1::text', []))).toEqual([['1']]);
  expect(await askAgain(() => sqlRunner(sql).query('select 1::text as one'))).toEqual([{ one: '1' }]);
  expect(await askAgain(() => sqlRunner(drizzle(sql)).query('select 1::text as one'))).toEqual([{ one: '1' }]);
});

// postgres.js waits for longer and longer by itself.
test('a session over pg knocks less and less often at a database that is away, also to hear', async ({
  postgres: server,
}) => {
  const schema = await freshSchema(server);
  const there = new URL(server.url);
  const proxy = await TcpProxy.open({ host: there.hostname, port: Number(there.port) }, systemEffects);
  onTestFinished(() => proxy.close());
  there.port = String(proxy.port);
  const pool = new Pool({ connectionString: there.href });
  pool.on('error', () => undefined);
  onTestFinished(() => pool.end());
  const worker = await join(postgres({ pool, schema }));
  expect(await worker.session.listen(() => undefined)).toBe(true);
  proxy.shut();
  await expect.poll(() => proxy.hits.refused).toBeGreaterThan(0);
  const before = proxy.hits.refused;
  const beats = 300;
  for (let n = 0; n < beats; n += 1) {
    const beat = worker.session.beat(worker.id, 60_000, []);
    expect(await beat.catch(() => 'lost')).toBe('lost');
  }
  expect(proxy.hits.refused - before - beats).toBeLessThan(10);
  proxy.letPass();
});

async function endSessions(admin: Awaited<ReturnType<typeof connect>>, name: string): Promise<void> {
  await admin.query(`select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1`, [name]);
}
