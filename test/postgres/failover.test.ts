import { createServer, connect as connectTo, type AddressInfo, type Socket } from 'node:net';
import { Client, Pool } from 'pg';
import postgresJs from 'postgres';
import { describe, expect, onTestFinished } from 'vitest';
import { event, holdfast, type RelayEvent } from '../../src/index.ts';
import { migrate, postgres } from '../../src/postgres/index.ts';
import { findDriver } from '../../src/postgres/driver/find-driver.ts';
import { pgDriver, type PgPoolInside } from '../../src/postgres/driver/pg-driver.ts';
import { systemEffects } from '../../src/system/effects.ts';
import { privatePostgres } from '../crash/private-postgres.ts';
import { needs, type TestServer } from '../support/needs.ts';
import { connect, freshSchema, pooled } from './support/fresh-schema.ts';

const test = needs('postgres');

/** What a server that has become a replica says to every write; its sessions live on. */
const READ_ONLY = 'set default_transaction_read_only = on';

const driverOn = (pool: Pool): ReturnType<typeof pgDriver> => pgDriver(pool as unknown as PgPoolInside, systemEffects);

function poolNamed(server: TestServer, name: string, max = 10): Pool {
  const pool = new Pool({ connectionString: server.url, application_name: name, max });
  pool.on('error', () => undefined);
  onTestFinished(() => pool.end());
  return pool;
}

describe('a server that takes no writes any more', () => {
  test('is left by a connection of our own: the next call asks who is in charge now', async ({ postgres: server }) => {
    const schema = await freshSchema(server);
    const link = driverOn(pooled(server)).link();
    onTestFinished(() => link.close());
    const write = `insert into ${schema}.poke values (1, 1) on conflict do nothing`;
    await link.query(READ_ONLY, []);
    await expect(link.query(write, [])).rejects.toMatchObject({ code: '25006' });
    expect(await link.query(write, [])).toEqual([]);
    await link.query(READ_ONLY, []);
    await expect(link.transaction((query) => query(write, []))).rejects.toMatchObject({ code: '25006' });
    expect(await link.transaction((query) => query(write, []))).toEqual([]);
  });

  test('costs no attempt: the effect is run again over another connection of the pool [X.3]', async ({
    postgres: server,
  }) => {
    const schema = await freshSchema(server);
    const pool = poolNamed(server, schema, 1);
    const events: RelayEvent[] = [];
    const hf = holdfast({ service: 'orders', store: postgres({ pool, schema }) });
    const placed = event<number>('order.placed');
    hf.on(placed, 'book', (n, ctx) =>
      ctx.commit((tx) => tx.query(`insert into ${schema}.poke values ($1, 1)`, [1_000 + n])),
    );
    const admin = await connect(server);
    await admin.query('begin');
    const relay = await hf.start({ leaseMs: 2_000, observers: [(one) => void events.push(one)] });
    onTestFinished(() => relay.stop({ drainMs: 50 }));
    await pool.query(READ_ONLY);
    await hf.send(admin, placed, 1);
    await admin.query('commit');
    const done = async (): Promise<unknown[]> => (await admin.query(`select attempts from ${schema}.delivered`)).rows;
    await expect.poll(done).toEqual([{ attempts: 1 }]);
    expect(events.map(({ kind }) => kind)).not.toContain('run-failed');
  });
});

test('a channel that cannot be listened to leaves no connection behind', async ({ postgres: server }) => {
  const schema = await freshSchema(server);
  const admin = await connect(server);
  const driver = driverOn(poolNamed(server, schema));
  // As on a replica, which answers a LISTEN with an error.
  await expect(
    driver.listen(
      '"',
      () => undefined,
      () => undefined,
    ),
  ).rejects.toMatchObject({ code: '42601' });
  const left = async (): Promise<number | null> =>
    (await admin.query(`select from pg_stat_activity where application_name = $1`, [schema])).rowCount;
  await expect.poll(left).toBe(0);
});

// A connection has ten seconds before it is doubted.
const PATIENT = { timeout: 300_000 };

interface SilentWay {
  readonly url: string;
  /** What is open stays open and nothing comes through it any more. */
  fallSilent(): void;
  /** Whether new ones are taken and never get an answer. */
  isDeaf: boolean;
  close(): void;
}

/** A way to the server that can fall silent. */
async function silentWay(server: TestServer): Promise<SilentWay> {
  const { hostname, port } = new URL(server.url);
  const open = new Set<readonly Socket[]>();
  const proxy = createServer((from) => {
    if (way.isDeaf) return void open.add([from.on('error', () => undefined)]);
    const to = connectTo({ host: hostname, port: Number(port || 5432) });
    open.add([from, to]);
    from.on('error', () => to.destroy()).pipe(to);
    to.on('error', () => from.destroy()).pipe(from);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const close = (): void => {
    for (const pair of open) for (const socket of pair) socket.destroy();
    proxy.close();
  };
  const url = new URL(server.url);
  url.hostname = '127.0.0.1';
  url.port = String((proxy.address() as AddressInfo).port);
  const fallSilent = (): void => {
    for (const pair of open) for (const socket of pair) socket.unpipe().pause();
  };
  const way: SilentWay = { url: url.href, fallSilent, isDeaf: false, close };
  onTestFinished(close);
  return way;
}

describe('a server that has fallen silent', () => {
  /** Whatever has a limit of ten seconds has one of a tenth. */
  const hasty = {
    ...systemEffects,
    setTimer: (callback: () => void, ms: number): unknown => systemEffects.setTimer(callback, ms / 100),
  };

  async function waysAndDriver(server: TestServer): Promise<{ way: SilentWay; driver: ReturnType<typeof pgDriver> }> {
    const way = await silentWay(server);
    const pool = new Pool({ connectionString: way.url });
    onTestFinished(() => pool.end());
    return { way, driver: pgDriver(pool as unknown as PgPoolInside, hasty) };
  }

  test('before it has let a connection in is given up, and asked again [X.3]', async ({ postgres: server }) => {
    const { way, driver } = await waysAndDriver(server);
    way.isDeaf = true;
    const link = driver.link();
    await expect(link.query('select 1')).rejects.toMatchObject({ code: 'DATABASE_TIMEOUT' });
    await expect(
      driver.listen(
        'waked',
        () => undefined,
        () => undefined,
      ),
    ).rejects.toMatchObject({
      code: 'DATABASE_TIMEOUT',
    });
    way.isDeaf = false;
    expect(await link.query('select 1', [])).toEqual([['1']]);
    await link.close();
  });

  test('is not waited for when its connections are closed [X.3]', async ({ postgres: server }) => {
    const { way, driver } = await waysAndDriver(server);
    const link = driver.link();
    await link.query('select 1', []);
    const listening = await driver.listen(
      'waked',
      () => undefined,
      () => undefined,
    );
    way.fallSilent();
    await expect(listening.close()).resolves.toBeUndefined();
    await expect(link.close()).resolves.toBeUndefined();
  });
});

test(
  'a connection of the pool that has fallen silent holds up a message for seconds, and not for ever [X.3]',
  PATIENT,
  async ({ postgres: server }) => {
    const schema = await freshSchema(server);
    const way = await silentWay(server);
    // One that is never idle for long enough to be closed by its pool.
    const pool = new Pool({ connectionString: way.url, max: 1, idleTimeoutMillis: 0 });
    pool.on('error', () => undefined);
    onTestFinished(() => pool.end());
    const hf = holdfast({ service: 'orders', store: postgres({ pool, schema }) });
    const placed = event<number>('order.placed');
    hf.on(placed, 'book', (n, ctx) =>
      ctx.commit((tx) => tx.query(`insert into ${schema}.poke values ($1, 1)`, [1_000 + n])),
    );
    // Only this one: the relay makes its own afterwards.
    await pool.query('select 1');
    way.fallSilent();
    const relay = await hf.start({ leaseMs: 30_000 });
    onTestFinished(async () => {
      way.close();
      await relay.stop({ drainMs: 50 });
    });
    const direct = await connect(server);
    await direct.query('begin');
    await hf.send(direct, placed, 1);
    await direct.query('commit');
    const done = async (): Promise<unknown[]> => (await direct.query(`select attempts from ${schema}.delivered`)).rows;
    await expect.poll(done).toEqual([{ attempts: 1 }]);
  },
);

test(
  'a handler that holds the whole pool while it commits is given up, and others get their turn [X.3]',
  PATIENT,
  async ({ postgres: server }) => {
    const schema = await freshSchema(server);
    const pool = poolNamed(server, schema, 1);
    const events: RelayEvent[] = [];
    const hf = holdfast({ service: 'orders', store: postgres({ pool, schema }) });
    const placed = event<number>('order.placed');
    const holding = Promise.withResolvers<void>();
    hf.on(placed, 'greedy', async (_, ctx) => {
      const client = await pool.connect();
      holding.resolve();
      await ctx.commit(async () => undefined).finally(() => client.release());
    });
    hf.on(placed, 'modest', async (_, ctx) => {
      await holding.promise;
      await ctx.commit(async () => undefined);
    });
    const relay = await hf.start({ leaseMs: 30_000, observers: [(one) => void events.push(one)] });
    onTestFinished(() => relay.stop({ drainMs: 50 }));
    const direct = await connect(server);
    await direct.query('begin');
    await hf.send(direct, placed, 1);
    await direct.query('commit');
    const done = async (): Promise<unknown[]> =>
      (await direct.query(`select handler::int from ${schema}.delivered`)).rows;
    await expect.poll(done).toEqual([{ handler: 2 }]);
    const fault = { kind: 'run-interrupted', handler: 'greedy', reason: 'database-fault' };
    await expect.poll(() => events).toContainEqual(expect.objectContaining(fault));
  },
);

test('a process that stands still inside a transaction of its own holds up the others only so long [X.2] [X.3]', async ({
  postgres: server,
}) => {
  const pool = poolNamed(server, 'stands-still');
  const sql = postgresJs(server.url, { max: 1, onnotice: () => undefined });
  onTestFinished(() => sql.end({ timeout: 1 }));
  for (const stopped of [findDriver(pool, systemEffects, 300), findDriver(sql, systemEffects, 300)]) {
    const link = stopped?.link();
    const [other, key] = [driverOn(pool).link(), Math.floor(Math.random() * 2 ** 31)];
    const [held, never] = [Promise.withResolvers<void>(), Promise.withResolvers<never>()];
    const resting = link?.transaction(async (query): Promise<void> => {
      await query(`select pg_advisory_xact_lock(${key})::text`, []);
      held.resolve();
      await never.promise;
    });
    const ended = resting?.catch((error: unknown) => error);
    await held.promise;
    expect(await other.query(`select pg_advisory_lock(${key})::text`, [])).toHaveLength(1);
    never.reject(new Error('on purpose'));
    expect(await ended).toBeInstanceOf(Error);
    await Promise.all([link?.close(), other.close()]);
  }
});

test('after a restart of the server everything is looked at anew: it may have lost what was seen before [X.3]', async () => {
  const server = await privatePostgres();
  const owner = new Client({ connectionString: server.url });
  owner.on('error', () => undefined);
  await owner.connect();
  await migrate(owner);
  await owner.end();
  const pool = new Pool({ connectionString: server.url });
  pool.on('error', () => undefined);
  const hf = holdfast({ service: 'orders', store: postgres({ pool }) });
  const placed = event<number>('order.placed', { key: () => 'one' });
  const seen: number[] = [];
  hf.on(placed, 'book', (n) => void seen.push(n));
  const relay = await hf.start();
  onTestFinished(async () => {
    await relay.stop({ drainMs: 50 });
    await pool.end();
  });
  const send = async (n: number, change = 'select 1'): Promise<void> => {
    const client = await pool.connect();
    await client.query('begin');
    await hf.send(client, placed, n);
    await client.query(change);
    await client.query('commit');
    client.release();
  };
  const open = async (): Promise<unknown[]> => (await pool.query('select payload from holdfast.delivery')).rows;
  await send(1);
  await expect.poll(() => seen).toEqual([1]);
  // What is not settled yet would be handled once more, as is its right.
  await expect.poll(open).toEqual([]);
  // As a replica would give it that took over without the last messages: a place and a transaction that were read past.
  await send(2, `update holdfast.delivery set seq = 1, tx = '3'`);
  await send(3);
  await expect.poll(() => seen).toEqual([1, 3]);
  await expect.poll(open).toEqual([{ payload: 2 }]);
  await server.restart('fast');
  await expect.poll(() => seen).toEqual([1, 3, 2]);
});
