import { PGlite } from '@electric-sql/pglite';
import { drizzle } from 'drizzle-orm/node-postgres';
import knex from 'knex';
import { Pool } from 'pg';
import postgresJs from 'postgres';
import { DataSource } from 'typeorm';
import { expect, onTestFinished, test as plainTest } from 'vitest';
import { factRecorder, type SqlPool } from '../../src/postgres/index.ts';
import { migrate } from '../../src/postgres/migrate.ts';
import { postgresOperator } from '../../src/postgres/operator/postgres-operator.ts';
import type { SqlConnection } from '../../src/postgres/sql-runner.ts';
import { prismaClient } from '../postgres/support/prisma-client.ts';
import { needs } from '../support/needs.ts';
import { ANN, OperatorDatabase } from './operator-database.ts';

const test = needs('postgres');

/** Asks each kind of statement once: JSON out, arrays in, numbers, times, functions that answer with JSON. */
async function expectAllVerbs(pool: SqlConnection, schema: string, dead: readonly string[]): Promise<void> {
  const operator = postgresOperator({ pool, schema });
  const [first = '', second = '', third = ''] = dead;
  const since = new Date(Date.now() - 3_600_000);
  expect((await operator.deadLetters({ since, limit: 2 })).items).toHaveLength(2);
  expect(await operator.show(first)).toMatchObject({
    kind: 'found',
    message: { payload: { total: 5 }, status: 'failed' },
  });
  expect(await operator.why(first)).toMatchObject({
    deliveries: [{ reason: { kind: 'failed', failedAt: expect.any(Date) } }],
  });
  expect(await operator.forecast(first)).toMatchObject({ kind: 'forecast', at: expect.any(Date) });
  expect(await operator.trace(`${first}:1`)).toMatchObject({
    kind: 'trace',
    as: ['dead letter'],
    at: expect.any(Date),
    entries: expect.arrayContaining([expect.objectContaining({ step: 'dead', at: expect.any(Date) })]),
  });
  expect(await operator.trace('"é\\')).toEqual({ kind: 'not-found' });
  expect(await operator.replay(first, ANN, { handlers: ['welcome'], generation: 2 ** 40 })).toEqual({
    kind: 'replayed',
    count: 1,
  });
  expect(await operator.find(first)).toMatchObject({ message: { generation: 2 ** 40 } });
  expect(await operator.edit(second, { text: '"é\\' }, ANN)).toMatchObject({ kind: 'edited', version: 1 });
  expect(await operator.show(second)).toMatchObject({ message: { payload: { text: '"é\\' } } });
  expect(await operator.discard(`${third}:1`, ANN, { open: true })).toEqual({ kind: 'discarded', count: 1 });
  expect(await operator.replayWhere({ type: 'order.placed' }, ANN)).toEqual({ kind: 'replayed', count: 0 });
  expect(await operator.pause('welcome', ANN)).toEqual({ kind: 'paused' });
  expect((await operator.handlers())[0]).toMatchObject({ types: ['order.placed'], pausedAt: expect.any(Date) });
  expect((await operator.stats()).handlers).toMatchObject([{ waiting: 2, failed: 0 }]);
  expect((await operator.audit({ limit: 1 })).items).toMatchObject([{ verb: 'pause' }]);
  expect((await operator.heldKeys()).items).toMatchObject([{ key: 'k', behind: 1 }]);
  const payload = [{ path: ['text'], value: '"é\\' }];
  expect((await operator.messages({ payload, type: 'order.*' })).items).toMatchObject([
    { id: second, tab: 'retrying' },
  ]);
  expect((await operator.messageTabs()).find(({ tab }) => tab === 'discarded')).toMatchObject({ count: 1 });
  expect(await operator.overview({ range: 'day' })).toMatchObject({ at: expect.any(Date), handlers: [{ failed: 0 }] });
  expect((await operator.system()).findings.length).toBeGreaterThan(5);
  expect((await operator.idempotencyRecords()).items).toEqual([]);
  expect((await operator.commands({ target: 't' })).items).toEqual([]);
  expect((await operator.outgoingCalls({ isOk: true })).items).toEqual([]);
}

/** What a recorder writes through this client is found. */
async function expectFacts(pool: SqlPool & SqlConnection, schema: string): Promise<void> {
  const facts = factRecorder({ service: 'mail', pool, schema });
  facts.call({ operation: 'smtp "é\\', requestId: 'req {"é\\,}', latencyMs: 3, httpStatus: 200, attempt: 1 });
  await facts.stop();
  expect(facts.counts()).toEqual({ kept: 1, lost: 0, waiting: 0 });
  expect(await postgresOperator({ pool, schema }).trace('req {"é\\,}')).toMatchObject({
    kind: 'trace',
    entries: [{ step: 'call', service: 'mail', what: 'smtp "é\\', outcome: 'ok', durationMs: 3, attempt: 1 }],
  });
}

async function threeDead(database: OperatorDatabase): Promise<string[]> {
  await database.handler(1, 'mail', 'welcome');
  return [await database.dead({ key: 'k' }), await database.dead({ key: 'k' }), await database.dead()];
}

test('the operator works through postgres.js, also one that fetches no types [X.14]', async ({ postgres }) => {
  const database = await OperatorDatabase.open(postgres);
  const sql = postgresJs(postgres.url, { fetch_types: false, max: 2, onnotice: () => {} });
  onTestFinished(() => sql.end());
  await expectAllVerbs(sql, database.schema, await threeDead(database));
  await expectFacts(sql, database.schema);
});

test('the operator works through Drizzle, and through one pg connection with another time zone [X.14]', async ({
  postgres,
}) => {
  const database = await OperatorDatabase.open(postgres);
  const dead = await threeDead(database);
  const client = await database.connect();
  await client.query(`set time zone 'Asia/Kathmandu'; set datestyle = 'SQL, DMY'`);
  await expectAllVerbs(drizzle(client), database.schema, dead);
});

const BUILDERS: Readonly<Record<string, (url: string) => Promise<SqlConnection>>> = {
  Knex: async (url) => {
    const db = knex({ client: 'pg', connection: url, pool: { min: 0, max: 2 } });
    onTestFinished(() => db.destroy());
    return db;
  },
  TypeORM: async (url) => {
    const source = await new DataSource({ type: 'postgres', url, poolSize: 2 }).initialize();
    onTestFinished(() => source.destroy());
    return source;
  },
  Prisma: async (url) => {
    const pool = new Pool({ connectionString: url, max: 2 });
    onTestFinished(() => pool.end());
    return prismaClient(pool);
  },
};

test.for(Object.entries(BUILDERS))('the operator works through %s [X.14]', async ([, open], { postgres }) => {
  const database = await OperatorDatabase.open(postgres);
  await expectAllVerbs(await open(postgres.url), database.schema, await threeDead(database));
});

plainTest('the operator works on PGlite [X.14] [X.1]', async () => {
  const db = new PGlite();
  onTestFinished(() => db.close());
  await migrate(db);
  await db.exec(`insert into holdfast.handler (id, service, name) values (1, 'mail', 'welcome');
    insert into holdfast.subscription values ('order.placed', 1, false);
    insert into holdfast.lane values (1, 1);
    insert into holdfast.delivery (id, handler, unit, state, type, key, payload, idempotency_key, source, attempts, holds, error, failed_at)
    select gen_random_uuid(), 1, 40, 2, 'order.placed', case when n < 3 then 'k' end, '{"total":5}', '', 'orders', 5, n < 3, '{}', now()
    from generate_series(1, 3) n`);
  const { rows } = await db.query<{ id: string }>(`select id from holdfast.delivery order by seq`);
  await expectAllVerbs(
    db,
    'holdfast',
    rows.map(({ id }) => id),
  );
  await expectFacts(db, 'holdfast');
});
