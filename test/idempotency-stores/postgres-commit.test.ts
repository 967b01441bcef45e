import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres';
import { sql } from 'drizzle-orm';
import { type Client, Pool, type PoolClient } from 'pg';
import type { Sql, TransactionSql } from 'postgres';
import { describe, expect, expectTypeOf, onTestFinished } from 'vitest';
import { event, holdfast } from '../../src/index.ts';
import type { AtomicIdempotencyStore, Claim, RunEnd } from '../../src/idempotency/idempotency-store.ts';
import { postgres, postgresIdempotency } from '../../src/postgres/index.ts';
import { sqlRunner, type SqlTransaction } from '../../src/postgres/sql-runner.ts';
import { connect, freshSchema, pooled } from '../postgres/support/fresh-schema.ts';
import { needs, type TestServer } from '../support/needs.ts';
import { newClaim } from './new-claim.ts';
import {
  heirOf,
  openPg,
  openPglite,
  openPostgresJs,
  type Place,
  sharedPlace,
  sharedStore,
  type StoreUnderTest,
  withSetting,
} from './postgres-stores.ts';

const test = needs('postgres');

const REPLY = { head: '{"status":201}', body: new TextEncoder().encode('{"order":7}') };
const DONE: RunEnd = { kind: 'finish', status: 'completed', reply: REPLY };

interface CommitClient {
  readonly client: string;
  open(place: Place): Promise<StoreUnderTest>;
}

const SERVERS: readonly CommitClient[] = [
  { client: 'pg', open: openPg },
  { client: 'postgres.js', open: openPostgresJs },
];
const CLIENTS: readonly CommitClient[] = [...SERVERS, { client: 'PGlite', open: openPglite }];

interface Stage extends StoreUnderTest {
  readonly claim: Claim;
  /** Writes an effect, then goes on with `more`, and ends. */
  commit(end?: RunEnd, more?: (tx: SqlTransaction) => Promise<unknown>): Promise<unknown>;
  /** How many effects, and what became of the record. */
  state(): Promise<[effects: number, status: string | undefined]>;
}

/** A claim to something new in a store. */
async function claimed(under: StoreUnderTest): Promise<Stage> {
  const { store, effect, effects } = under;
  const claim = newClaim();
  await store.claim(claim);
  return {
    ...under,
    claim,
    commit: (end = DONE, more) =>
      store.commit(claim, async (tx) => {
        await effect(tx, claim.id);
        await more?.(tx);
        return { value: 'worked', end };
      }),
    state: async () => [await effects(claim.id), (await store.find(claim.id))?.status],
  };
}

/** The same in a store of its own, whose tables may be changed. */
async function alone(server: TestServer, open: CommitClient['open']): Promise<Stage> {
  const under = await open({ url: server.url, schema: await freshSchema(server) });
  onTestFinished(() => under.close());
  return claimed(under);
}

const ENDED = { kind: 'ended', value: 'worked' };

describe.for(CLIENTS)('a commit over $client', ({ open }) => {
  const shared = sharedStore(async (server: TestServer) => open(await sharedPlace(server)));
  const stage = async (server: TestServer): Promise<Stage> => claimed(await shared(server));

  test('keeps the effect and the reply together, and others see both at once [S1.1]', async ({ postgres: server }) => {
    const { store, claim, commit, state } = await stage(server);
    expect(await commit()).toEqual(ENDED);
    expect(await state()).toEqual([1, 'completed']);
    expect(await store.claim(heirOf(claim))).toMatchObject({ kind: 'finished', status: 'completed', reply: REPLY });
  });

  test('whose work throws rejects with just that, keeps nothing, and may be made again [S1.1]', async ({
    postgres: server,
  }) => {
    const { commit, state } = await stage(server);
    const own = Object.assign(new Error('no stock'), { code: '40001' });
    const thrown = await commit(DONE, async () => {
      throw own;
    }).catch((error: unknown) => error);
    expect(thrown).toBe(own);
    expect(await state()).toEqual([0, 'processing']);
    expect(await commit()).toEqual(ENDED);
    expect(await state()).toEqual([1, 'completed']);
  });

  test('whose work would end the transaction by itself is refused before that, and the run is not ended', async ({
    postgres: server,
  }) => {
    const { commit, state } = await stage(server);
    const ends = commit(DONE, async (tx) => void (await sqlRunner(tx).query('rollback')));
    await expect(ends).rejects.toMatchObject({ code: 'TRANSACTION_CONTROL' });
    expect(await state()).toEqual([0, 'processing']);
  });

  test('whose work hides that the database refused a statement is refused and keeps nothing', async ({
    postgres: server,
  }) => {
    const { commit, state } = await stage(server);
    const hides = commit(DONE, (tx) =>
      sqlRunner(tx)
        .query('select 1 / 0')
        .catch(() => undefined),
    );
    await expect(hides).rejects.toThrow(/division by zero|aborted/);
    expect(await state()).toEqual([0, 'processing']);
  });

  test('that the database refuses in its last moment rejects with the reason and keeps nothing', async ({
    postgres: server,
  }) => {
    const { column, commit, state } = await alone(server, open);
    await column('alter table $.effect add unique (line) deferrable initially deferred');
    await column(`insert into $.effect select id from $.idempotency`);
    await expect(commit()).rejects.toMatchObject({ code: '23505' });
    expect(await state()).toEqual([1, 'processing']);
  });

  test('of a run that was taken over is late, and its effect is not kept [S1.1]', async ({ postgres: server }) => {
    const { store, claim, effect, effects } = await stage(server);
    await store.renew({ ...claim, leaseMs: 1 });
    const heir = heirOf(claim);
    await expect.poll(() => store.claim(heir)).toEqual({ kind: 'claimed', run: 2 });
    const late = await store.commit(claim, async (tx) => {
      await effect(tx, claim.id);
      return { value: 0, end: DONE };
    });
    expect([late, await effects(claim.id)]).toEqual([{ kind: 'late' }, 0]);
    expect((await store.find(claim.id))?.status).toBe('processing');
    const ended = await store.commit(heir, async (tx) => {
      await effect(tx, claim.id);
      return { value: 1, end: DONE };
    });
    expect([ended, await effects(claim.id)]).toEqual([{ kind: 'ended', value: 1 }, 1]);
  });

  test('of a run that its owner has ended before is late, so that nothing is done twice [S1.1]', async ({
    postgres: server,
  }) => {
    const { store, claim, commit, state } = await stage(server);
    expect(await commit()).toEqual(ENDED);
    expect(await commit()).toEqual({ kind: 'late' });
    expect(await state()).toEqual([1, 'completed']);
    const other = newClaim();
    await store.claim(other);
    await store.end(other, { kind: 'doubt' });
    expect(await store.commit(other, async () => ({ value: 0, end: DONE }))).toEqual({ kind: 'late' });
    expect((await store.find(claim.id))?.reply).toEqual(REPLY);
  });

  test('may release the key or leave it in doubt, and keeps its effect all the same', async ({ postgres: server }) => {
    const { store, commit, state } = await stage(server);
    expect(await commit({ kind: 'release' })).toEqual(ENDED);
    expect(await state()).toEqual([1, undefined]);
    const claim = newClaim();
    await store.claim(claim);
    expect((await store.commit(claim, async () => ({ value: 0, end: { kind: 'doubt' } }))).kind).toBe('ended');
    expect((await store.find(claim.id))?.status).toBe('unknown');
  });

  test('is stamped with the time of its end, however long it took', async ({ postgres: server }) => {
    const { store, claim, commit } = await stage(server);
    await commit(DONE, (tx) => sqlRunner(tx).query('select pg_sleep(0.2)::text'));
    const { createdAt, updatedAt, expiresAt } = (await store.find(claim.id)) ?? { createdAt: 0, updatedAt: 0 };
    expect(updatedAt - createdAt).toBeGreaterThanOrEqual(200);
    expect(expiresAt).toBe(updatedAt + claim.keepMs);
  });

  test('of an erased person keeps the effect without the reply [S0.4]', async ({ postgres: server }) => {
    const { store, claim, commit, state } = await stage(server);
    expect(await store.erase(claim.person ?? '')).toBe(1);
    expect(await commit()).toEqual(ENDED);
    expect([await state(), (await store.find(claim.id))?.reply]).toEqual([[1, 'completed'], null]);
  });

  test('takes messages along: they are sent if the reply is kept, and else not [S1.1]', async ({
    postgres: server,
  }) => {
    const { schema, column, commit } = await alone(server, open);
    const placed = event<{ n: number }>('order.placed');
    const hf = holdfast({ service: 'orders', store: postgres({ schema }) });
    const failing = commit(DONE, async (tx) => {
      await hf.send(tx, placed, { n: 1 });
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    expect(await column('select 1 from $.delivery')).toEqual([]);
    await commit(DONE, (tx) => hf.send(tx, placed, { n: 2 }));
    expect(await column(`select payload ->> 'n' from $.delivery`)).toEqual(['2']);
  });

  test('without a record is a plain transaction', async ({ postgres: server }) => {
    const { store, effect, effects } = await stage(server);
    const { id: line } = newClaim();
    const own = new Error('no');
    const failing = store.transaction(async (tx) => {
      await effect(tx, line);
      throw own;
    });
    expect([await failing.catch((error: unknown) => error), await effects(line)]).toEqual([own, 0]);
    expect(await store.transaction((tx) => effect(tx, line).then(() => 7))).toBe(7);
    expect(await effects(line)).toBe(1);
  });
});

describe('a commit under stricter isolation', () => {
  for (const { client, open } of SERVERS) {
    for (const isolation of ['repeatable read', 'serializable']) {
      test(`over ${client}, ${isolation}: work is run again when the lease was renewed meanwhile, its effect is kept once`, async ({
        postgres: server,
      }) => {
        const { url, schema } = await sharedPlace(server);
        const under = await open({ url: withSetting(url, 'default_transaction_isolation', isolation), schema });
        onTestFinished(() => under.close());
        const { store, claim, commit, state } = await claimed(under);
        let runs = 0;
        const renewed = await commit(DONE, async () => {
          runs += 1;
          if (runs === 1) expect(await store.renew(claim)).toBe(true);
        });
        expect([renewed, runs, await state()]).toEqual([ENDED, 2, [1, 'completed']]);
      });
    }
  }
});

interface Ended {
  readonly step: string;
  /** Ends the session of the transaction, from outside or by itself. */
  end(tx: SqlTransaction, admin: Client): Promise<unknown>;
  readonly when: 'before' | 'after';
}

async function pidOf(tx: SqlTransaction): Promise<unknown> {
  return (await sqlRunner(tx).query('select pg_backend_pid() as pid'))[0]?.['pid'];
}

/** Where the session of a commit can be ended while its work runs. */
const STEPS: readonly Ended[] = [
  { step: 'before its effect', when: 'before', end: async (tx, admin) => terminate(admin, await pidOf(tx)) },
  { step: 'after its effect', when: 'after', end: async (tx, admin) => terminate(admin, await pidOf(tx)) },
  {
    step: 'in a statement of its own',
    when: 'after',
    end: (tx) => sqlRunner(tx).query('select pg_terminate_backend(pg_backend_pid())::text, pg_sleep(60)::text'),
  },
];

async function terminate(admin: Client, pid: unknown): Promise<void> {
  await admin.query('select pg_terminate_backend($1)', [pid]);
  await expect
    .poll(async () => (await admin.query('select from pg_stat_activity where pid = $1', [pid])).rowCount)
    .toBe(0);
}

describe.for(SERVERS)('a commit over $client to a server that ends sessions', ({ open }) => {
  const shared = sharedStore(async (server: TestServer) => open(await sharedPlace(server)));
  const stage = async (server: TestServer): Promise<Stage> => claimed(await shared(server));

  for (const { step, when, end } of STEPS) {
    test(`whose session is ended ${step} keeps nothing, and may be made again [S1.1]`, async ({ postgres: server }) => {
      const { store, claim, commit, effect, state } = await stage(server);
      const admin = await connect(server);
      const cut = store.commit(claim, async (tx) => {
        if (when === 'before') await end(tx, admin);
        await effect(tx, claim.id);
        if (when === 'after') await end(tx, admin);
        return { value: 0, end: DONE };
      });
      await expect(cut).rejects.toThrow(/terminat|connection|ECONNRESET|EPIPE/i);
      expect(await state()).toEqual([0, 'processing']);
      expect(await commit()).toEqual(ENDED);
      expect(await state()).toEqual([1, 'completed']);
    });
  }

  test('whose session is ended while its end waits for the record keeps nothing [S1.1]', async ({
    postgres: server,
  }) => {
    const { schema, claim, commit, state } = await stage(server);
    const [admin, holder] = [await connect(server), await connect(server)];
    await holder.query('begin');
    await holder.query(`select from ${schema}.idempotency where id = $1 for update`, [claim.id]);
    const waits = `select pid from pg_stat_activity where wait_event_type = 'Lock' and query like '%"${schema}".idempotency_end%'`;
    const cut = commit().catch((error: unknown) => error);
    await expect.poll(async () => (await admin.query(waits)).rowCount).toBe(1);
    await terminate(admin, (await admin.query<{ pid: number }>(waits)).rows[0]?.pid);
    await holder.query('rollback');
    expect(String(await cut)).toMatch(/terminat|connection|ECONNRESET|EPIPE/i);
    expect(await state()).toEqual([0, 'processing']);
    expect(await commit()).toEqual(ENDED);
  });

  test('whose session is ended in the COMMIT is known to have failed [S1.1]', async ({ postgres: server }) => {
    const { column, commit, state } = await alone(server, open);
    await column(`create function $.die() returns trigger language plpgsql as
      'begin perform pg_terminate_backend(pg_backend_pid()); return null; end'`);
    await column(`create constraint trigger die after insert on $.effect deferrable initially deferred
      for each row execute function $.die()`);
    await expect(commit()).rejects.toThrow(/terminat|connection|ECONNRESET|EPIPE/i);
    expect(await state()).toEqual([0, 'processing']);
    await column('drop trigger die on $.effect');
    expect(await commit()).toEqual(ENDED);
  });
});

describe('an idempotency store on PostgreSQL', () => {
  test('hands over what `wrap` makes of the transaction, in its own types', async ({ postgres: server }) => {
    const schema = await freshSchema(server);
    const pool = pooled(server);
    await pool.query(`create table ${schema}.effect (line text)`);
    const plain = postgresIdempotency({ pool, schema });
    expectTypeOf(plain).toEqualTypeOf<AtomicIdempotencyStore<PoolClient>>();
    expectTypeOf(postgresIdempotency<Sql>).returns.toEqualTypeOf<AtomicIdempotencyStore<TransactionSql>>();
    const store = postgresIdempotency({ pool, schema, wrap: (tx) => drizzle(tx) });
    expectTypeOf(store).toMatchTypeOf<AtomicIdempotencyStore<NodePgDatabase>>();
    const claim = newClaim();
    await store.claim(claim);
    const done = await store.commit(claim, async (tx) => {
      await tx.execute(sql.raw(`insert into ${schema}.effect values ('done')`));
      return { value: 1, end: DONE };
    });
    expect([done.kind, (await pool.query(`select from ${schema}.effect`)).rowCount]).toEqual(['ended', 1]);
  });

  test('says that the schema is missing, and how to get it', async ({ postgres: server }) => {
    const store = postgresIdempotency({ pool: pooled(server), schema: 'nowhere_at_all' });
    const missing = { code: 'SCHEMA_TOO_OLD', details: { schema: 'nowhere_at_all', found: 0 } };
    await expect(store.claim(newClaim())).rejects.toMatchObject(missing);
    await expect(store.find('x')).rejects.toMatchObject(missing);
  });

  test('rejects with the client’s own error when there is no server', async () => {
    const pool = new Pool({ connectionString: 'postgres://nobody@127.0.0.1:1/none' });
    onTestFinished(() => pool.end());
    const store = postgresIdempotency({ pool });
    await expect(store.claim(newClaim())).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    await expect(store.commit(newClaim(), async () => ({ value: 0, end: DONE }))).rejects.toMatchObject({
      code: 'ECONNREFUSED',
    });
  });

  test('refuses options it cannot work with, all at once', () => {
    const options = { pool: {}, schma: 'x', wrap: 'no' } as unknown as { pool: Pool };
    expect(() => postgresIdempotency(options)).toThrow(/schma .*did you mean schema\?.* wrap .* pool /);
  });
});
