import { Pool, type PoolClient } from 'pg';
import postgresJs from 'postgres';
import { expect, onTestFinished } from 'vitest';
import { constant, event, holdfast, type Holdfast } from '../../src/index.ts';
import { postgres, type SqlTransaction } from '../../src/postgres/index.ts';
import {
  assertDead,
  assertDelivered,
  assertNothingSent,
  assertOrder,
  assertSent,
  drain,
  freshSchema,
  sentBy,
} from '../../src/testing/index.ts';
import { needs } from '../support/needs.ts';
import { sharedPglite } from '../support/shared-pglite.ts';

const test = needs('postgres');
const placed = event<{ orderId: string; n: number }>('order.placed', { key: ({ orderId }) => orderId });
const charged = event<{ orderId: string }>('order.charged');
const away = (): Error => Object.assign(new Error('the card service is away'), { code: 'ECONNREFUSED' });

function handlers<Tx extends SqlTransaction>(hf: Holdfast<Tx, Tx | SqlTransaction>): void {
  hf.on(
    placed,
    'charge',
    async ({ orderId }, ctx) => {
      if (orderId === 'poor') throw Object.assign(new Error('no money'), { code: 'NO_MONEY' });
      if (ctx.attempt < 3) throw away();
      await ctx.commit((tx) => hf.send(tx, charged, { orderId }));
    },
    { policy: { schedule: constant(3_600_000), maxAttempts: 4 } },
  );
}

test('drain and the assertions work on PostgreSQL as in memory, in a schema of their own [X.13]', async ({
  postgres: server,
}) => {
  const pool = new Pool({ connectionString: server.url, max: 5 });
  onTestFinished(() => pool.end());
  const fresh = await freshSchema(pool, { prefix: server.namespace });
  const hf = holdfast({ service: 'orders', store: postgres({ pool, schema: fresh.schema }) });
  handlers(hf);
  const inTransaction = async (work: (tx: PoolClient) => Promise<unknown>, end = 'commit'): Promise<void> => {
    const tx = await pool.connect();
    await tx.query('begin');
    await work(tx);
    await tx.query(end);
    tx.release();
  };
  await inTransaction(async (tx) => {
    await hf.send(tx, placed, { orderId: 'ord_0', n: 0 });
    await assertSent({ pool: tx, schema: fresh.schema }, placed, { n: 0 }, { count: 1 });
  }, 'rollback');
  await assertNothingSent(fresh);
  for (const n of [1, 2]) await inTransaction((tx) => hf.send(tx, placed, { orderId: 'ord_1', n }));
  const { sent } = await sentBy(fresh, () =>
    inTransaction((tx) =>
      hf.send(tx, placed, { orderId: 'poor', n: 3 }, { deliverAt: new Date(Date.now() + 86_400_000) }),
    ),
  );
  expect(sent.map(({ key, payload }) => [key, payload])).toEqual([['poor', { orderId: 'poor', n: 3 }]]);
  const { delivered, retried, dead } = await drain(hf);
  expect(retried.map(({ delayMs }) => delayMs)).toEqual(Array(4).fill(3_600_000));
  expect([delivered.map(({ handler, attempt }) => [handler, attempt]), dead]).toEqual([
    [
      ['charge', 3],
      ['charge', 3],
    ],
    [],
  ]);
  await assertDelivered(fresh, placed, { orderId: 'ord_1' }, { count: 2, handler: 'charge' });
  await assertOrder(fresh, 'ord_1', [{ n: 1 }, { n: 2 }]);
  await assertSent(fresh, charged, { orderId: 'ord_1' }, { count: 2 });
  await fresh.advance(86_400_000);
  expect((await drain(hf)).dead.map(({ error }) => error.code)).toEqual(['NO_MONEY']);
  await assertDead(fresh, placed, { orderId: 'poor' }, { code: 'NO_MONEY', count: 1 });
  await fresh.drop();
  await fresh.drop();
  const { rows } = await pool.query('select 1 from pg_namespace where nspname = $1', [fresh.schema]);
  expect(rows).toEqual([]);
});

test('a fresh schema and drain take postgres.js [X.13]', async ({ postgres: server }) => {
  const sql = postgresJs(server.url, { max: 6, onnotice: () => undefined });
  onTestFinished(() => sql.end());
  await using fresh = await freshSchema(sql, { prefix: server.namespace });
  const hf = holdfast({ service: 'orders', store: postgres({ pool: sql, schema: fresh.schema }) });
  handlers(hf);
  await sql.begin((tx) => hf.send(tx, placed, { orderId: 'ord_1', n: 1 }));
  await assertSent(fresh, placed, { n: 1 });
  await drain(hf);
  await assertDelivered(fresh, placed, { orderId: 'ord_1' });
});

test('a fresh schema, its time and drain take PGlite [X.13]', async () => {
  const db = await sharedPglite();
  await using fresh = await freshSchema(db);
  const hf = holdfast({ service: 'orders', store: postgres({ pool: db, schema: fresh.schema }) });
  handlers(hf);
  const deliverAt = new Date(Date.now() + 3 * 86_400_000);
  await db.transaction((tx) => hf.send(tx, placed, { orderId: 'poor', n: 1 }, { deliverAt }));
  expect((await drain(hf)).dead).toEqual([]);
  await fresh.advance(3 * 86_400_000);
  await drain(hf);
  await assertDead(fresh, placed, { n: 1 }, { code: 'NO_MONEY' });
});
