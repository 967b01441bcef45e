import { drizzle } from 'drizzle-orm/node-postgres';
import { Kysely, PostgresDialect } from 'kysely';
import type { Knex } from 'knex';
import { Pool, type PoolClient } from 'pg';
import postgresJs from 'postgres';
import type { DataSource } from 'typeorm';
import { expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { event, holdfast } from '../../src/index.ts';
import { postgres } from '../../src/postgres/index.ts';
import type { prismaClient } from '../postgres/support/prisma-client.ts';

const placed = event('order.placed', { schema: z.object({ orderId: z.string(), total: z.number() }) });
const shipped = event('order.shipped', { schema: z.object({ orderId: z.string(), at: z.coerce.date() }) });
const order = { orderId: 'ord_1', total: 5 };
const pool = new Pool();
const hf = holdfast({ service: 'orders', store: postgres({ pool }) });

test('a handler of several events gets the payload of any of them, as their schemas give it', () => {
  hf.on(placed, 'charge', (payload, { commit }) => {
    expectTypeOf(payload).toEqualTypeOf<{ orderId: string; total: number }>();
    expectTypeOf(commit).parameter(0).parameter(0).toEqualTypeOf<PoolClient>();
  });
  hf.on([placed, shipped], 'timeline', (payload) => {
    expectTypeOf(payload).toEqualTypeOf<{ orderId: string; total: number } | { orderId: string; at: Date }>();
  });
  hf.project([placed, shipped], 'totals', (payload, tx) => {
    expectTypeOf(payload.orderId).toBeString();
    expectTypeOf(tx).toEqualTypeOf<PoolClient>();
  });
});

// Never called: what counts is what the compiler says.
async function sendingIn(
  tx: PoolClient,
  { knex, typeorm, prisma }: { knex: Knex; typeorm: DataSource; prisma: ReturnType<typeof prismaClient> },
): Promise<void> {
  await hf.send(tx, placed, order);
  await drizzle(pool).transaction((drizzled) => hf.send(drizzled, placed, order));
  const kysely = new Kysely<object>({ dialect: new PostgresDialect({ pool }) });
  await kysely.transaction().execute((trx) => hf.send(trx, placed, order));
  await postgresJs().begin((sql) => hf.send(sql, placed, order));
  const wrapped = holdfast({ service: 'orders', store: postgres({ pool, wrap: (client) => drizzle(client) }) });
  wrapped.on(placed, 'ship', (payload, ctx) => ctx.commit((db) => wrapped.send(db, placed, payload)));
  await knex.transaction((trx) => hf.send(trx, placed, order));
  await typeorm.transaction((manager) => hf.send(manager, placed, order));
  await hf.send(typeorm.createQueryRunner(), placed, order);
  await prisma.$transaction((inner) => hf.send(inner, placed, order));
  // @ts-expect-error: no transaction is open on it
  await hf.send(knex, placed, order);
  // @ts-expect-error: no transaction is open on it
  await hf.send(typeorm, placed, order);
  // @ts-expect-error: no transaction is open on it
  await hf.send(prisma, placed, order);
  // @ts-expect-error: two statements of a pool may meet two connections
  await hf.send(pool, placed, order);
  // @ts-expect-error: an await was forgotten
  await hf.send(pool.connect(), placed, order);
  // @ts-expect-error: no transaction is open on it
  await hf.send(drizzle(pool), placed, order);
  // @ts-expect-error: an event is not its name
  await hf.send(tx, 'order.placed', order);
  // @ts-expect-error: its schema says a number
  await hf.send(tx, placed, { ...order, total: '5' });
}

test('a message is sent in the transaction of any client, whichever one the handlers have, and never in a pool', () => {
  expectTypeOf(sendingIn).toBeFunction();
});
