import { Client, Pool } from 'pg';
import { describe, expect, onTestFinished } from 'vitest';
import { z } from 'zod';
import { event, holdfast, outgoing } from '../../src/index.ts';
import { migrate, migrationScript, postgres } from '../../src/postgres/index.ts';
import { freshSchema } from '../support/fresh-schema.ts';
import { needs, type TestServer } from '../support/needs.ts';
import { realTracing } from '../support/spans.ts';

const test = needs('postgres');
const spanOf = realTracing();

const orderPlaced = event('order.placed', {
  schema: z.object({ orderId: z.string(), total: z.number() }),
  key: (order) => order.orderId,
  aggregate: (order) => ({ type: 'order', id: order.orderId }),
});
const order = { orderId: 'ord_1', total: 5 };

async function connect(server: TestServer): Promise<Client> {
  const client = new Client({ connectionString: server.url });
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

/** A migrated schema of its own for one test, and a connection to it. */
async function migrated(server: TestServer): Promise<{ client: Client; schema: string; hf: ReturnType<typeof make> }> {
  const schema = await freshSchema(server);
  const client = await connect(server);
  return { client, schema, hf: make(schema) };
}

/** Ends when so many sessions of these tests wait for a lock. */
async function waitingForLocks(watcher: Client, sessions: number): Promise<void> {
  const waiting = async (): Promise<number> => {
    const text = `select count(*)::int as n from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;
    return (await watcher.query<{ n: number }>(text)).rows[0]?.n ?? 0;
  };
  await expect.poll(waiting).toBeGreaterThanOrEqual(sessions);
}

/** Sends in the transaction that is open, or in one of its own. */
function make(schema: string): Pick<ReturnType<typeof holdfast<Client>>, 'send' | 'sendAll'> {
  const hf = holdfast<Client>({ service: 'orders', store: postgres({ schema }), generation: 7 });
  return {
    send: (client, ...message) => inTransaction(client, () => hf.send(client, ...message)),
    sendAll: (client, messages) => inTransaction(client, () => hf.sendAll(client, messages)),
  };
}

async function inTransaction<T>(client: Client, work: () => Promise<T>): Promise<T> {
  const { rows } = await client.query('select now() < statement_timestamp() as open');
  if (rows[0]?.['open'] === true) return work();
  await client.query('begin');
  try {
    const result = await work();
    await client.query('commit');
    return result;
  } catch (error) {
    await client.query('rollback');
    throw error;
  }
}

describe('send', () => {
  test('a message leaves with the commit, or not at all [S1.4]', async ({ postgres: server }) => {
    const { client, schema, hf } = await migrated(server);
    const seen = async (): Promise<number> =>
      Number((await client.query(`select count(*) as n from ${schema}.delivery`)).rows[0]?.['n']);
    await client.query('begin');
    await hf.send(client, orderPlaced, order);
    await client.query('rollback');
    expect(await seen()).toBe(0);
    await client.query('begin');
    await hf.send(client, orderPlaced, order);
    await client.query('commit');
    expect(await seen()).toBe(1);
  });

  test('the row has the whole envelope, with the trace of the request that sent it [S1.4]', async ({
    postgres: server,
  }) => {
    const { client, schema, hf } = await migrated(server);
    const span = await spanOf(() =>
      hf.send(client, orderPlaced, order, {
        headers: { tenant: 'acme' },
        target: 'billing',
        correlationId: 'req_9',
        causationId: 'evt_8',
        tracestate: 'vendor=1',
      }),
    );
    const { rows } = await client.query(`select * from ${schema}.delivery`);
    const { traceId, spanId } = span.spanContext();
    expect(rows[0]).toMatchObject({
      type: 'order.placed',
      key: 'ord_1',
      payload: order,
      source: 'orders',
      target: 'billing',
      aggregate_type: 'order',
      aggregate_id: 'ord_1',
      generation: '7',
      correlation_id: 'req_9',
      causation_id: 'evt_8',
      traceparent: `00-${traceId}-${spanId}-01`,
      tracestate: 'vendor=1',
      headers: { tenant: 'acme' },
      state: 0,
      due_at: null,
    });
    const [shown] = (await client.query(`select id, idempotency_key, correlation_id from ${schema}.outbox`)).rows;
    expect(shown).toEqual({ id: rows[0]?.['id'], idempotency_key: rows[0]?.['id'], correlation_id: 'req_9' });
  });

  test('a payload that does not fit is refused before the database hears of it, and the transaction goes on', async ({
    postgres: server,
  }) => {
    const { client, schema, hf } = await migrated(server);
    await client.query('begin');
    await expect(hf.send(client, orderPlaced, { orderId: 'x' } as never)).rejects.toMatchObject({
      code: 'PAYLOAD_INVALID',
    });
    await hf.send(client, orderPlaced, order);
    await client.query('commit');
    expect((await client.query(`select payload from ${schema}.delivery`)).rows).toEqual([{ payload: order }]);
  });

  test('odd but legal text survives: quotes, emoji, line ends, a very long key', async ({ postgres: server }) => {
    const { client, schema, hf } = await migrated(server);
    const odd = event<{ text: string }>('odd', { key: (payload) => payload.text.slice(0, 255) });
    const text = `'"\\ \n\t $1 😀 ${'x'.repeat(300)}`;
    await hf.send(client, odd, { text });
    const { rows } = await client.query(`select key, payload from ${schema}.delivery`);
    expect(rows).toEqual([{ key: text.slice(0, 255), payload: { text } }]);
  });

  test('messages of one call keep their order, and those of one key share a unit', async ({ postgres: server }) => {
    const { client, schema, hf } = await migrated(server);
    const orders = Array.from({ length: 500 }, (_, i) => ({ orderId: `ord_${i % 50}`, total: i }));
    const results = await hf.sendAll(
      client,
      orders.map((one) => outgoing(orderPlaced, one)),
    );
    expect(new Set(results.map((result) => result.kind))).toEqual(new Set(['stored']));
    const { rows } = await client.query(
      `select (payload->>'total')::int as total, key, unit from ${schema}.delivery order by seq`,
    );
    expect(rows.map((row) => row['total'])).toEqual(orders.map((one) => one.total));
    const units = new Map(rows.map((row) => [row['key'], row['unit']]));
    expect(rows.every((row) => units.get(row['key']) === row['unit'])).toBe(true);
    expect(new Set(units.values()).size).toBeGreaterThan(20);
  });

  test('a message for later is scheduled; one whose time has passed is not', async ({ postgres: server }) => {
    const { client, schema, hf } = await migrated(server);
    await hf.send(client, orderPlaced, order, { deliverAt: new Date('2100-01-01') });
    await hf.send(client, orderPlaced, order, { deliverAt: new Date('2000-01-01') });
    const { rows } = await client.query(`select state, due_at from ${schema}.delivery order by seq`);
    expect(rows).toEqual([
      { state: 1, due_at: new Date('2100-01-01') },
      { state: 0, due_at: null },
    ]);
  });

  test('sleepers are woken with the commit, and nobody is told when none sleeps [S4.6]', async ({
    postgres: server,
  }) => {
    const { client, schema, hf } = await migrated(server);
    const listener = await connect(server);
    const heard: string[] = [];
    listener.on('notification', ({ channel, payload }) => heard.push(`${channel}:${payload ?? ''}`));
    await listener.query(`listen ${schema}_ready`);
    await hf.send(client, orderPlaced, order);
    await client.query(`insert into ${schema}.waiter values (gen_random_uuid())`);
    await hf.send(client, orderPlaced, order);
    await listener.query('select 1');
    expect(heard).toEqual([`${schema}_ready:`]);
  });

  test('wakes nobody where it is asked not to, or its transaction says so, and only there [S4.6]', async ({
    postgres: server,
  }) => {
    const { client, schema, hf } = await migrated(server);
    const listener = await connect(server);
    const heard: string[] = [];
    listener.on('notification', ({ channel }) => heard.push(channel));
    await listener.query(`listen ${schema}_ready`);
    await client.query(`insert into ${schema}.waiter values (gen_random_uuid())`);
    const together = async (...steps: (() => Promise<unknown>)[]): Promise<void> => {
      await client.query('begin');
      for (const step of steps) await step();
      await client.query('commit');
      await listener.query('select 1');
    };
    await together(
      () => hf.send(client, orderPlaced, order, { wake: false }),
      () => hf.sendAll(client, [outgoing(orderPlaced, order, { wake: false, idempotencyKey: 'once' })]),
      () => hf.send(client, orderPlaced, order),
    );
    await together(
      () => client.query(`set local holdfast.wake = 'off'`),
      () => hf.send(client, orderPlaced, order),
    );
    expect(heard).toEqual([]);
    await together(() => hf.send(client, orderPlaced, order));
    expect(heard).toEqual([`${schema}_ready`]);
  });

  test('a role that may only insert can send', async ({ postgres: server }) => {
    const { client, schema, hf } = await migrated(server);
    const role = `${schema}_sender`;
    await client.query(`create role ${role}`);
    onTestFinished(async () => {
      await client.query('reset role');
      await client.query(`drop owned by ${role}`);
      await client.query(`drop role ${role}`);
    });
    await client.query(`grant usage on schema ${schema} to ${role}`);
    await client.query(`grant insert on ${schema}.delivery to ${role}`);
    await client.query(`grant usage on sequence ${schema}.delivery_seq to ${role}`);
    await client.query(
      `grant select on ${schema}.meta, ${schema}.subscription, ${schema}.lane, ${schema}.waiter to ${role}`,
    );
    await client.query(`set role ${role}`);
    await hf.send(client, orderPlaced, order);
    await expect(client.query(`select * from ${schema}.delivery`)).rejects.toMatchObject({ code: '42501' });
  });
});

describe('what is no transaction', () => {
  test('into a schema that was not migrated says so, and what to run', async ({ postgres: server }) => {
    const client = await connect(server);
    await expect(make(`${server.namespace}_nowhere`).send(client, orderPlaced, order)).rejects.toMatchObject({
      code: 'SCHEMA_TOO_OLD',
      message: expect.stringContaining('npx holdfast migrate'),
      cause: { code: '3F000' },
    });
  });

  test('a pool, or a connection without begin, is refused before anything is sent', async ({ postgres: server }) => {
    const { client, schema } = await migrated(server);
    const hf = holdfast({ service: 'orders', store: postgres({ schema }) });
    const pool = new Pool({ connectionString: server.url });
    onTestFinished(() => pool.end());
    await expect(hf.send(pool as never, orderPlaced, order)).rejects.toMatchObject({ code: 'TRANSACTION_NOT_OPEN' });
    await expect(hf.send(client, orderPlaced, order)).rejects.toMatchObject({ code: 'TRANSACTION_NOT_OPEN' });
    await expect(migrate(pool, { schema })).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
    expect((await client.query(`select id from ${schema}.delivery`)).rows).toEqual([]);
  });
});

describe('an idempotency key', () => {
  test('sent twice stores one message, and the second answer names the first [S0.11]', async ({ postgres: server }) => {
    const { client, schema, hf } = await migrated(server);
    const first = await hf.send(client, orderPlaced, order, { idempotencyKey: 'k1' });
    const second = await hf.send(client, orderPlaced, order, { idempotencyKey: 'k1' });
    expect(first.kind).toBe('stored');
    expect(second).toEqual({ kind: 'duplicate', id: first.id });
    expect((await client.query(`select idempotency_key from ${schema}.delivery`)).rows).toEqual([
      { idempotency_key: 'k1' },
    ]);
  });

  test('twice in one call stores the first', async ({ postgres: server }) => {
    const { client, schema, hf } = await migrated(server);
    const twice = [1, 2].map((total) => outgoing(orderPlaced, { ...order, total }, { idempotencyKey: 'k' }));
    const [first, second, third] = await hf.sendAll(client, [...twice, outgoing(orderPlaced, order)]);
    expect([first?.kind, second?.kind, third?.kind]).toEqual(['stored', 'duplicate', 'stored']);
    expect(second?.id).toBe(first?.id);
    expect((await client.query(`select payload from ${schema}.delivery order by id`)).rows).toHaveLength(2);
  });

  test('of a rolled back send is free again', async ({ postgres: server }) => {
    const { client, hf } = await migrated(server);
    await client.query('begin');
    await hf.send(client, orderPlaced, order, { idempotencyKey: 'k' });
    await client.query('rollback');
    expect((await hf.send(client, orderPlaced, order, { idempotencyKey: 'k' })).kind).toBe('stored');
  });

  test('that another transaction holds is waited for: one of two senders stores', async ({ postgres: server }) => {
    const { client, hf } = await migrated(server);
    const other = await connect(server);
    await client.query('begin');
    const first = await hf.send(client, orderPlaced, order, { idempotencyKey: 'k' });
    const second = hf.send(other, orderPlaced, order, { idempotencyKey: 'k' });
    await client.query('commit');
    expect(await second).toEqual({ kind: 'duplicate', id: first.id });
  });

  test('of two calls in opposite order does not deadlock', async ({ postgres: server }) => {
    const { client, hf } = await migrated(server);
    const [holder, other, watcher] = await Promise.all([connect(server), connect(server), connect(server)]);
    const keyed = (key: string): ReturnType<typeof outgoing> => outgoing(orderPlaced, order, { idempotencyKey: key });
    // Both get as far as the key that a third transaction holds. Unsorted, each would then hold what the other wants next.
    await holder.query('begin');
    await hf.send(holder, orderPlaced, order, { idempotencyKey: 'm' });
    const forth = hf.sendAll(client, ['a', 'm', 'z'].map(keyed));
    await waitingForLocks(watcher, 1);
    const back = hf.sendAll(other, ['z', 'm', 'a'].map(keyed));
    await waitingForLocks(watcher, 2);
    await holder.query('rollback');
    const results = await Promise.all([forth, back]);
    expect(results.flat().filter((result) => result.kind === 'stored')).toHaveLength(3);
  });

  test('is free again when its time has passed', async ({ postgres: server }) => {
    const { client, schema, hf } = await migrated(server);
    const first = await hf.send(client, orderPlaced, order, { idempotencyKey: 'k' });
    await client.query(`update ${schema}.dedup set expires_at = now()`);
    const second = await hf.send(client, orderPlaced, order, { idempotencyKey: 'k' });
    expect(second.kind).toBe('stored');
    expect(second.id).not.toBe(first.id);
  });
});

describe('strict order', () => {
  const strict = event<typeof order>('order.changed', { key: (one) => one.orderId, order: 'strict' });

  test('a second sender of the key waits until the first has committed, and stands behind it', async ({
    postgres: server,
  }) => {
    const { client, schema, hf } = await migrated(server);
    const other = await connect(server);
    await client.query('begin');
    await hf.send(client, strict, { ...order, total: 1 });
    let done = false;
    const second = hf.send(other, strict, { ...order, total: 2 }).then(() => (done = true));
    const free = await connect(server);
    await hf.send(free, strict, { orderId: 'another', total: 3 });
    expect(done).toBe(false);
    await client.query('commit');
    await second;
    const { rows } = await client.query(
      `select payload->'total' as total from ${schema}.delivery where key = 'ord_1' order by seq`,
    );
    expect(rows.map((row) => row['total'])).toEqual([1, 2]);
  });

  test('several keys in opposite order do not deadlock', async ({ postgres: server }) => {
    const { client, hf } = await migrated(server);
    const [holder, other, watcher] = await Promise.all([connect(server), connect(server), connect(server)]);
    const changed = (orderId: string): ReturnType<typeof outgoing> => outgoing(strict, { orderId, total: 1 });
    await holder.query('begin');
    await hf.send(holder, strict, { orderId: 'm', total: 1 });
    const forth = hf.sendAll(client, ['a', 'm', 'z'].map(changed));
    await waitingForLocks(watcher, 1);
    const back = hf.sendAll(other, ['z', 'm', 'a'].map(changed));
    await waitingForLocks(watcher, 2);
    await holder.query('rollback');
    const results = await Promise.all([forth, back]);
    expect(results.flat().map((result) => result.kind)).toEqual(Array.from({ length: 6 }, () => 'stored'));
  });
});

describe('migrate', () => {
  test('does everything once, also when two run at once', async ({ postgres: server }) => {
    const schema = `${server.namespace}_m`;
    const [a, b] = await Promise.all([connect(server), connect(server)]);
    onTestFinished(async () => void (await a.query(`drop schema "${schema}" cascade`)));
    const results = await Promise.all([migrate(a, { schema }), migrate(b, { schema })]);
    expect(results.map((result) => result.applied.length).toSorted((less, more) => less - more)).toEqual([0, 1]);
    expect(await migrate(a, { schema })).toEqual({ from: 1, to: 1, applied: [] });
  });

  test('leaves nothing behind when a step fails, and says so when the schema is newer than it can serve [X.18]', async ({
    postgres: server,
  }) => {
    const { client, schema } = await migrated(server);
    const future = (serves: number): Promise<unknown> =>
      client.query(
        `insert into ${schema}.migration (version, name, serves) values (${98 + serves}, 'future', ${serves})`,
      );
    await future(1);
    expect(await migrate(client, { schema })).toEqual({ from: 99, to: 99, applied: [] });
    await future(2);
    await expect(migrate(client, { schema })).rejects.toMatchObject({
      code: 'SCHEMA_TOO_NEW',
      details: { found: 100 },
    });
    await client.query('select 1');
  });

  test('refuses a schema name that could be anything else', async ({ postgres: server }) => {
    const client = await connect(server);
    for (const schema of ['a"; drop schema public; --', 'Upper', '', 'x'.repeat(64)]) {
      await expect(migrate(client, { schema })).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
    }
  });

  test('prints a script that does the same', async ({ postgres: server }) => {
    const schema = `${server.namespace}_s`;
    const client = await connect(server);
    await client.query(migrationScript({ schema }));
    expect(await migrate(client, { schema })).toEqual({ from: 1, to: 1, applied: [] });
    await client.query(`drop schema "${schema}" cascade`);
  });
});
