import type { Client, Pool, PoolClient } from 'pg';
import { describe, expect, onTestFinished } from 'vitest';
import { postgres, postgresOperator } from '../../src/postgres/index.ts';
import { HISTORY_SLOTS } from '../../src/postgres/schema/messages.ts';
import type { Delivery, RelayStore } from '../../src/relay/relay-store.ts';
import type { NewMessage } from '../../src/index.ts';
import { needs, type TestServer } from '../support/needs.ts';
import { connect, freshSchema, pooled } from './support/fresh-schema.ts';
import { handler, join, message, own } from './support/worker.ts';

const test = needs('postgres');
const DAY_MS = 86_400_000;

interface Stage {
  readonly schema: string;
  readonly pool: Pool;
  readonly store: RelayStore<PoolClient>;
  readonly other: Client;
}

async function stage(server: TestServer): Promise<Stage> {
  const schema = await freshSchema(server);
  const [pool, other] = [pooled(server), await connect(server)];
  return { schema, pool, store: postgres({ pool, schema }), other };
}

async function send({ store, pool }: Stage, ...messages: readonly NewMessage[]): Promise<void> {
  const tx = await pool.connect();
  await tx.query('begin');
  await store.append(tx, messages);
  await tx.query('commit');
  tx.release();
}

describe('the ring of finished deliveries', () => {
  test('stays where it is while somebody reads the slot that comes next, holds up nobody, and moves on after', async ({
    postgres: server,
  }) => {
    const on = await stage(server);
    const worker = await own(on.store);
    const slot = async (): Promise<unknown> =>
      (await on.pool.query(`select slot from ${on.schema}.meta`)).rows[0]?.['slot'];
    await on.pool.query(`update ${on.schema}.meta set slot_since = now() - interval '1 day'`);
    await on.other.query(`begin; select count(*) from ${on.schema}.delivered_1`);
    await worker.session.tidy({ historyMs: DAY_MS, maxPending: undefined });
    expect(await slot()).toBe(0);
    await send(on, message());
    const { ready } = await worker.read();
    const done = await worker.session.settle(worker.id, [worker.done(ready[0] as Delivery)]);
    expect(done.settled.size).toBe(1);
    await on.other.query('commit');
    await worker.session.tidy({ historyMs: DAY_MS, maxPending: undefined });
    expect(await slot()).toBe(1);
    await worker.session.tidy({ historyMs: DAY_MS, maxPending: undefined });
    expect(await slot()).toBe(1);
  });

  test('keeps a delivery until the ring has come round, then forgets it', async ({ postgres: server }) => {
    const on = await stage(server);
    const worker = await own(on.store);
    await send(on, message());
    const { ready } = await worker.read();
    await worker.session.settle(worker.id, [worker.done(ready[0] as Delivery)]);
    const kept = async (): Promise<number | null> =>
      (await on.pool.query(`select from ${on.schema}.delivered`)).rowCount;
    const turn = async (): Promise<void> => {
      await on.pool.query(`update ${on.schema}.meta set slot_since = now() - interval '1 day'`);
      await worker.session.tidy({ historyMs: DAY_MS, maxPending: undefined });
    };
    for (let turns = 0; turns < HISTORY_SLOTS - 1; turns += 1) await turn();
    expect(await kept()).toBe(1);
    await turn();
    expect(await kept()).toBe(0);
    const { rows } = await on.pool.query(
      `select forgotten_until between now() - interval '25 hours' and now() - interval '24 hours' as known from ${on.schema}.meta`,
    );
    expect(rows).toEqual([{ known: true }]);
  });
});

describe('the count of finished deliveries', () => {
  const settleOne = async (on: Stage, worker: Awaited<ReturnType<typeof own>>): Promise<void> => {
    await send(on, message());
    const { ready } = await worker.read();
    await worker.session.settle(worker.id, [worker.done(ready[0] as Delivery)]);
  };

  test('is the same whatever has been counted before, and goes down by what is forgotten', async ({
    postgres: server,
  }) => {
    const on = await stage(server);
    const worker = await own(on.store);
    const operator = postgresOperator({ pool: on.pool, schema: on.schema });
    const turn = async (): Promise<void> => {
      await on.pool.query(`update ${on.schema}.meta set slot_since = now() - interval '1 day'`);
      await worker.session.tidy({ historyMs: DAY_MS, maxPending: undefined });
      await on.pool.query(`update ${on.schema}.meta set slot_since = now() - interval '2 minutes'`);
      await worker.session.tidy({ historyMs: DAY_MS, maxPending: undefined });
    };
    const seen: unknown[] = [];
    for (let turns = 0; turns <= HISTORY_SLOTS; turns += 1) {
      await settleOne(on, worker);
      if (turns > HISTORY_SLOTS - 2) await settleOne(on, worker);
      const { handlers } = await operator.stats({ countDelivered: true });
      const { rows } = await on.pool.query(`select count(*)::int as n from ${on.schema}.delivered`);
      const { rows: counted } = await on.pool.query(`select slot from ${on.schema}.history_count order by slot`);
      expect(handlers[0]?.delivered).toBe(rows[0]?.['n']);
      seen.push(counted.length);
      await turn();
    }
    expect(seen).toEqual([0, 0, 1, 2, 3, 4, 5, 6, 6]);
  });

  test('reads no slot that was counted', async ({ postgres: server }) => {
    const on = await stage(server);
    const worker = await own(on.store);
    await settleOne(on, worker);
    const operator = postgresOperator({ pool: on.pool, schema: on.schema });
    await on.pool.query(`insert into ${on.schema}.history_count select 0, id, 41 from ${on.schema}.handler`);
    expect((await operator.stats({ countDelivered: true })).handlers[0]?.delivered).toBe(41);
  });

  test('waits until nobody writes to the slot any more', async ({ postgres: server }) => {
    const on = await stage(server);
    const worker = await own(on.store);
    await settleOne(on, worker);
    await on.pool.query(`update ${on.schema}.meta set slot = 2, slot_since = now()`);
    const counted = async (): Promise<number | null> => {
      await worker.session.tidy({ historyMs: DAY_MS, maxPending: undefined });
      return (await on.pool.query(`select from ${on.schema}.history_count`)).rowCount;
    };
    expect(await counted()).toBe(0);
    await on.pool.query(`update ${on.schema}.meta set slot_since = now() - interval '61 seconds'`);
    expect(await counted()).toBe(1);
  });
});

describe('the housekeeper', () => {
  test('forgets keys and arrivals whose time has passed, and no others', async ({ postgres: server }) => {
    const on = await stage(server);
    const worker = await join(on.store);
    await on.pool.query(`insert into ${on.schema}.dedup select n::text, gen_random_uuid(),
      case when n <= 2500 then now() - interval '1 s' else now() + interval '1 day' end from generate_series(1, 2501) n`);
    await on.pool.query(`insert into ${on.schema}.inbox (source_id, taken_as, id, expires_at) values
      ('old', 't', gen_random_uuid(), now()), ('new', 't', gen_random_uuid(), now() + interval '1 day')`);
    await worker.session.tidy({ historyMs: DAY_MS, maxPending: undefined });
    expect((await on.pool.query(`select key from ${on.schema}.dedup`)).rows).toEqual([{ key: '2501' }]);
    expect((await on.pool.query(`select source_id from ${on.schema}.inbox`)).rows).toEqual([{ source_id: 'new' }]);
  });

  test('tells what nobody serves, and why [S4.5]', async ({ postgres: server }) => {
    const on = await stage(server);
    const pinned = await join(on.store, {
      handlers: [handler('pinned', { types: ['v'], isPinned: true })],
      generation: 1,
    });
    const gone = await join(on.store, { handlers: [handler('gone', { types: ['left'] })] });
    await gone.session.leave(gone.id);
    await send(
      on,
      message({ type: 'unheard.of' }),
      message({ type: 'unheard.of' }),
      message({ type: 'left' }),
      message({ type: 'v', generation: 1 }),
      message({ type: 'v', generation: 2 }),
    );
    const { unserved, pending, isFull } = await pinned.session.tidy({ historyMs: DAY_MS, maxPending: 5 });
    expect([pending, isFull]).toEqual([5, true]);
    expect(unserved).toEqual([
      { reason: 'no-handler', handler: undefined, type: 'unheard.of', generation: undefined, count: 2 },
      { reason: 'no-worker', handler: 'gone', type: undefined, generation: undefined, count: 1 },
      { reason: 'generation-unserved', handler: 'pinned', type: undefined, generation: 2, count: 1 },
    ]);
    const next = await own(on.store, {
      handlers: [handler('pinned', { types: ['v'], isPinned: true })],
      generation: 2,
    });
    expect((await next.read()).ready.map(({ generation }) => generation)).toEqual([2]);
  });
});

describe('the start', () => {
  test('is refused where the schema is missing, older, or newer and serves this release no more', async ({
    postgres: server,
  }) => {
    const on = await stage(server);
    await expect(postgres({ pool: on.pool, schema: `${on.schema}_none` }).openRelay()).rejects.toMatchObject({
      code: 'SCHEMA_TOO_OLD',
      details: { found: 0 },
    });
    const future = (serves: number): Promise<unknown> =>
      on.pool.query(
        `insert into ${on.schema}.migration (version, name, serves) values (${98 + serves}, 'future', ${serves})`,
      );
    await future(1);
    await (await on.store.openRelay()).close();
    await future(2);
    await expect(on.store.openRelay()).rejects.toMatchObject({ code: 'SCHEMA_TOO_NEW' });
  });

  test('is refused without a pool, with a clear next step', async ({ postgres: server }) => {
    const schema = await freshSchema(server);
    await expect(postgres({ schema }).openRelay()).rejects.toMatchObject({ code: 'POOL_MISSING' });
    expect(() => postgres({ pool: {} as never })).toThrow(/pool is .* pass a pg Pool/);
  });

  test('is refused for a role that may not do all, and for one whom row security hides rows from', async ({
    postgres: server,
  }) => {
    const on = await stage(server);
    const role = `${on.schema}_relay`;
    await on.other.query(`create role ${role} login`);
    onTestFinished(async () => {
      const cleaner = await on.pool.connect();
      await cleaner.query(`drop owned by ${role}`);
      await cleaner.query(`drop role ${role}`);
      cleaner.release();
    });
    await on.other.query(`grant usage on schema ${on.schema} to ${role}`);
    await on.other.query(`grant all on all tables in schema ${on.schema} to ${role}`);
    await on.other.query(`revoke delete on ${on.schema}.delivery from ${role}`);
    const as = new URL(server.url);
    as.username = role;
    const store = postgres({ pool: pooled({ url: as.href }), schema: on.schema });
    await expect(store.openRelay()).rejects.toMatchObject({
      code: 'PRIVILEGE_MISSING',
      details: { privilege: 'delete', relation: `"${on.schema}".delivery` },
    });
    await on.other.query(`alter table ${on.schema}.delivery enable row level security`);
    await expect(store.openRelay()).rejects.toMatchObject({ code: 'ROW_SECURITY_ACTIVE' });
  });
});
