import type { Client, Pool, PoolClient } from 'pg';
import { describe, expect, onTestFinished } from 'vitest';
import { postgres } from '../../src/postgres/index.ts';
import { finishParams, finishStatement } from '../../src/postgres/relay/finish.ts';
import { leaseStatements } from '../../src/postgres/relay/lease.ts';
import type { Delivery, RelayStore } from '../../src/relay/relay-store.ts';
import { needs, type TestServer } from '../support/needs.ts';
import { connect, freshSchema, pooled } from './support/fresh-schema.ts';
import { join, message, own, type TestWorker } from './support/worker.ts';

const test = needs('postgres');

interface Stage {
  readonly schema: string;
  readonly pool: Pool;
  readonly store: RelayStore<PoolClient>;
  /** A second connection, for what happens in between. */
  readonly other: Client;
}

async function stage(server: TestServer): Promise<Stage> {
  const schema = await freshSchema(server);
  const [pool, other] = [pooled(server), await connect(server)];
  return { schema, pool, store: postgres({ pool, schema }), other };
}

async function send({ store, pool }: Stage, ...keys: readonly string[]): Promise<void> {
  const tx = await pool.connect();
  await tx.query('begin');
  await store.append(
    tx,
    keys.map((key) => message({ key })),
  );
  await tx.query('commit');
  tx.release();
}

/** A transaction that ends with the test, if not before. */
async function begun({ pool }: Stage): Promise<PoolClient> {
  const tx = await pool.connect();
  onTestFinished(() => tx.release(true));
  await tx.query('begin');
  return tx;
}

/** An own worker with one message in hand, and one that would like to have it. */
async function ownerAndHeir(on: Stage): Promise<[TestWorker<PoolClient>, Delivery, TestWorker<PoolClient>]> {
  const owner = await own(on.store);
  await send(on, 'k');
  const { ready } = await owner.read();
  const heir = await join(on.store);
  return [owner, ready[0] as Delivery, heir];
}

const statements = (schema: string): ReturnType<typeof leaseStatements> => leaseStatements(schema, 'select 1');

describe('a settle and a takeover at once', () => {
  test('the settle that came first keeps the takeover off the unit until it is committed [S4.2]', async ({
    postgres: server,
  }) => {
    const on = await stage(server);
    const [owner, delivery, heir] = await ownerAndHeir(on);
    const { token } = owner.target(delivery);
    await on.other.query('begin');
    await on.other.query(finishStatement(on.schema), [...finishParams(owner.id, [owner.done(delivery)])]);
    expect(await heir.session.acquire(heir.id, [token])).toEqual([]);
    await on.other.query('commit');
    expect(await heir.session.acquire(heir.id, [token])).toEqual([{ unit: token.unit, epoch: token.epoch + 1 }]);
  });

  test('a settle behind a takeover waits for it and is refused, whatever it saw before [S4.2]', async ({
    postgres: server,
  }) => {
    const on = await stage(server);
    const [owner, delivery, heir] = await ownerAndHeir(on);
    const { token } = owner.target(delivery);
    await on.other.query('begin');
    const pid = (await on.other.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid ?? 0;
    const taken = await on.other.query(statements(on.schema).acquire, [heir.id, `{${token.unit}}`, `{${token.epoch}}`]);
    expect(taken.rows).toHaveLength(1);
    const settling = owner.session.settle(owner.id, [owner.done(delivery)]);
    await expect.poll(() => waiting(on, pid)).toBe(1);
    await on.other.query('commit');
    const { settled, lostUnits } = await settling;
    expect([settled.size, [...lostUnits]]).toEqual([0, [token.unit]]);
    expect((await on.other.query(`select state from ${on.schema}.delivery`)).rows).toEqual([{ state: 0 }]);
  });

  test('a takeover of many units takes those nobody settles under, and waits for none', async ({
    postgres: server,
  }) => {
    const on = await stage(server);
    const [owner, delivery, heir] = await ownerAndHeir(on);
    await on.other.query('begin');
    await on.other.query(finishStatement(on.schema), [...finishParams(owner.id, [owner.done(delivery)])]);
    const all = [...owner.tokens.values()];
    const got = await heir.session.acquire(heir.id, all);
    expect(got.map(({ unit }) => unit).toSorted((a, b) => a - b)).toEqual(
      all.map(({ unit }) => unit).filter((unit) => unit !== delivery.unit),
    );
    await on.other.query('commit');
  });

  test('a unit that found a new owner between the look and the reach is left to it', async ({ postgres: server }) => {
    const on = await stage(server);
    const [first, second] = [await join(on.store), await join(on.store)];
    const seen = (await first.session.survey(first.id)).free;
    const unit = seen.find((free) => free.unit > 0);
    if (!unit) throw new Error('no unit is free');
    await on.other.query('begin');
    await on.other.query(statements(on.schema).acquire, [second.id, `{${unit.unit}}`, `{${unit.epoch}}`]);
    expect(await first.session.acquire(first.id, [unit])).toEqual([]);
    await on.other.query('commit');
    expect(await first.session.acquire(first.id, [unit])).toEqual([]);
  });

  test('a process that stops inside its commit loses its hold when its session has rested too long', async ({
    postgres: server,
  }) => {
    const on = await stage(server);
    const [owner, delivery, heir] = await ownerAndHeir(on);
    const { token } = owner.target(delivery);
    await on.other.query('begin; set local idle_in_transaction_session_timeout = 300');
    await on.other.query(finishStatement(on.schema), [...finishParams(owner.id, [owner.done(delivery)])]);
    expect(await heir.session.acquire(heir.id, [token])).toEqual([]);
    await expect.poll(() => heir.session.acquire(heir.id, [token])).toHaveLength(1);
    const { rows } = await on.pool.query(`select count(*)::int as n from ${on.schema}.delivery`);
    expect(rows).toEqual([{ n: 1 }]);
  });
});

describe('rows that become visible late', () => {
  test('one whose transaction is older, and one whose transaction is newer than all that had ended, are both read, in line [S4.1]', async ({
    postgres: server,
  }) => {
    const on = await stage(server);
    const worker = await own(on.store);
    const [early] = [await begun(on), await begun(on)];
    await on.store.append(early, [message({ key: 'k', payload: '1' })]);
    // Its place in line is taken before it has a transaction id, so that the id is above the reader's xmax.
    await on.other.query('begin');
    const place = await on.other.query(`select nextval('${on.schema}.delivery_seq')`);
    await send(on, 'k');
    const first = await worker.read();
    expect(first.ready).toHaveLength(1);
    await on.other.query(
      `insert into ${on.schema}.delivery (id, handler, unit, seq, type, key, payload, idempotency_key, source)
      select gen_random_uuid(), handler, unit, $1, type, key, payload, gen_random_uuid()::text, source from ${on.schema}.delivery`,
      [place.rows[0]?.['nextval']],
    );
    expect((await worker.read()).ready).toEqual([]);
    await on.other.query('commit');
    await early.query('commit');
    await send(on, 'k');
    const { ready } = await worker.read();
    expect(ready).toHaveLength(3);
    expect(ready.map(({ seq }) => seq)).toEqual(ready.map(({ seq }) => seq).toSorted((a, b) => a - b));
    expect(ready[0]?.seq).toBeLessThan(first.ready[0]?.seq ?? 0);
    expect((await worker.read()).ready).toEqual([]);
  });

  test('of many transactions, more than one read looks through, none is lost and none comes twice', async ({
    postgres: server,
  }) => {
    const on = await stage(server);
    const worker = await own(on.store);
    const held = await begun(on);
    await on.store.append(held, [message({ key: 'held' })]);
    await worker.read();
    const many = 4;
    for (let i = 0; i < many; i += 1) {
      await send(on, ...Array.from({ length: 3_000 }, (_, n) => `key ${n}`));
    }
    await held.query('commit');
    const seqs: number[] = [];
    for (let reads = 0; reads < 3; reads += 1) {
      const { ready, isLateOverflow } = await worker.read(20_000);
      expect(isLateOverflow).toBe(false);
      seqs.push(...ready.map(({ seq }) => seq));
    }
    expect(seqs).toHaveLength(many * 3_000 + 1);
    expect(new Set(seqs).size).toBe(seqs.length);
  });

  test('of one huge transaction, the reader is told to begin anew', async ({ postgres: server }) => {
    const on = await stage(server);
    const worker = await own(on.store);
    await worker.read();
    await send(on, ...Array.from({ length: 10_001 }, (_, n) => `key ${n}`));
    expect((await worker.read(1)).isLateOverflow).toBe(true);
    expect((await worker.read(1)).isLateOverflow).toBe(false);
  });

  test('rows of a restored dump do not come again and again', async ({ postgres: server }) => {
    const on = await stage(server);
    await (await join(on.store)).session.close();
    await send(on, 'k');
    await on.other.query(`update ${on.schema}.delivery set tx = '999999999999'`);
    const worker = await own(on.store);
    expect((await worker.read()).ready).toHaveLength(1);
    expect((await worker.read()).ready).toEqual([]);
  });
});

/** How many sessions wait for the second connection. Asked over another: within a transaction the activity stands still. */
async function waiting({ pool }: Stage, pid: number): Promise<number> {
  const text = `select count(*)::int as n from pg_stat_activity where $1 = any (pg_blocking_pids(pid))`;
  return (await pool.query<{ n: number }>(text, [pid])).rows[0]?.n ?? 0;
}
