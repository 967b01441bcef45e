import type { Pool, PoolClient } from 'pg';
import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres';
import { sql } from 'drizzle-orm';
import { describe, expect, expectTypeOf } from 'vitest';
import { postgres } from '../../src/postgres/index.ts';
import type { Delivery, RelayStore, Settlement } from '../../src/relay/relay-store.ts';
import { needs, type TestServer } from '../support/needs.ts';
import { freshSchema, pooled } from './support/fresh-schema.ts';
import { message, own, type TestWorker } from './support/worker.ts';

const test = needs('postgres');

interface Stage {
  readonly schema: string;
  readonly pool: Pool;
  readonly store: RelayStore<PoolClient>;
  readonly worker: TestWorker<PoolClient>;
  readonly delivery: Delivery;
  effects(): Promise<number>;
}

/** A worker with one message in hand, and a table for effects. */
async function stage(server: TestServer, leaseMs?: number): Promise<Stage> {
  const schema = await freshSchema(server);
  const pool = pooled(server);
  await pool.query(`create table ${schema}.effect (n int)`);
  const store = postgres({ pool, schema });
  const worker = await own(store, leaseMs === undefined ? {} : { leaseMs });
  await sendOne(pool, store);
  const { ready } = await worker.read();
  const effects = async (): Promise<number> => (await pool.query(`select from ${schema}.effect`)).rowCount ?? 0;
  return { schema, pool, store, worker, delivery: ready[0] as Delivery, effects };
}

async function sendOne(pool: Pool, store: RelayStore<PoolClient>): Promise<void> {
  const tx = await pool.connect();
  await tx.query('begin');
  await store.append(tx, [message({ key: 'k' })]);
  await tx.query('commit');
  tx.release();
}

describe('a commit', () => {
  test('is run again when the database asks for it, and its effect is kept once [S4.3]', async ({
    postgres: server,
  }) => {
    const { worker, delivery, schema, effects } = await stage(server);
    let runs = 0;
    const outcome = await worker.session.commit(worker.id, [worker.done(delivery)], async (tx) => {
      runs += 1;
      await tx.query(`insert into ${schema}.effect values (1)`);
      if (runs < 3) await tx.query(`do $$ begin raise exception 'again' using errcode = '40001'; end $$`);
    });
    expect([outcome, runs, await effects()]).toEqual(['committed', 3, 1]);
  });

  test('that fails keeps neither the effect nor the completion, and says why', async ({ postgres: server }) => {
    const { worker, delivery, schema, effects } = await stage(server);
    const failing = worker.session.commit(worker.id, [worker.done(delivery)], async (tx) => {
      await tx.query(`insert into ${schema}.effect values (1)`);
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    expect(await effects()).toBe(0);
    expect(await worker.session.fetch([delivery], delivery.unit)).toHaveLength(1);
  });

  test('whose effect would end the transaction by itself is refused before that, and says why [X.3]', async ({
    postgres: server,
  }) => {
    const { worker, delivery, schema, effects } = await stage(server);
    for (const end of ['rollback', 'commit', 'rollback; begin']) {
      const failing = worker.session.commit(worker.id, [worker.done(delivery)], async (tx) => {
        await tx.query(`insert into ${schema}.effect values (1)`);
        await tx.query(end);
      });
      await expect(failing).rejects.toMatchObject({ code: 'TRANSACTION_CONTROL' });
    }
    expect(await effects()).toBe(0);
    expect(await worker.session.fetch([delivery], delivery.unit)).toHaveLength(1);
  });

  test('whose connection is lost in the COMMIT has an unknown outcome [S4.3]', async ({ postgres: server }) => {
    const { worker, delivery, schema, pool } = await stage(server);
    await pool.query(`create function ${schema}.die() returns trigger language plpgsql as
      $$ begin perform pg_terminate_backend(pg_backend_pid()); return null; end $$`);
    await pool.query(`create constraint trigger die after insert on ${schema}.effect deferrable initially deferred
      for each row execute function ${schema}.die()`);
    const lost = worker.session.commit(worker.id, [worker.done(delivery)], async (tx) => {
      await tx.query(`insert into ${schema}.effect values (1)`);
    });
    await expect(lost).rejects.toMatchObject({ name: 'CommitLost' });
  });

  test('whose process rested too long inside is ended by the database, and the process lives', async ({
    postgres: server,
  }) => {
    const { worker, delivery, schema, effects, pool } = await stage(server, 1_000);
    const committing = worker.session.commit(worker.id, [worker.done(delivery)], async (tx) => {
      const { rows } = await tx.query<{ pid: number }>('select pg_backend_pid() as pid');
      await tx.query(`insert into ${schema}.effect values (1)`);
      const lives = async (): Promise<number | null> =>
        (await pool.query('select from pg_stat_activity where pid = $1', [rows[0]?.pid])).rowCount;
      await expect.poll(lives).toBe(0);
    });
    await expect(committing).rejects.toThrow(/terminat|not queryable/i);
    expect(await effects()).toBe(0);
  });

  test('hands over what `wrap` makes of the transaction', async ({ postgres: server }) => {
    const { schema, pool, effects, worker } = await stage(server);
    await worker.session.leave(worker.id);
    const store = postgres({ pool, schema, wrap: (tx) => drizzle(tx) });
    expectTypeOf(store).toMatchTypeOf<Pick<RelayStore<NodePgDatabase>, 'openRelay'>>();
    const drizzled = await own(store);
    const { ready } = await drizzled.read();
    const outcome = await drizzled.session.commit(
      drizzled.id,
      ready.map((one) => drizzled.done(one)),
      async (tx) => void (await tx.execute(sql.raw(`insert into ${schema}.effect values (1)`))),
    );
    expect([outcome, await effects()]).toEqual(['committed', 1]);
  });
});

describe('a batch of results', () => {
  test('with one that the database cannot take: it alone fails, the others are written', async ({
    postgres: server,
  }) => {
    const { worker, delivery, pool, store } = await stage(server);
    for (let i = 0; i < 6; i += 1) await sendOne(pool, store);
    const all = [delivery, ...(await worker.read()).ready];
    const results = all.map((one, i): Settlement => {
      const error = { name: 'Error', message: i === 4 ? 'a NUL \u0000' : 'no', kind: 'unknown' };
      return { ...worker.target(one), kind: 'dead', attempts: 1, holds: false, error };
    });
    const { settled, failed } = await worker.session.settle(worker.id, results);
    expect(settled.size).toBe(6);
    expect([...(failed ?? [])]).toEqual([[all[4]?.seq, expect.objectContaining({ code: '22P05' })]]);
  });
});
