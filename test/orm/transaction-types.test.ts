import { MikroORM, type EntityManager as MikroManager } from '@mikro-orm/postgresql';
import { PrismaPg } from '@prisma/adapter-pg';
import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres';
import { drizzle as drizzleJs, type PostgresJsDatabase } from 'drizzle-orm/postgres-js';
import knex, { type Knex } from 'knex';
import { type ControlledTransaction, Kysely, PostgresDialect } from 'kysely';
import type { Pool } from 'pg';
import type { Sql } from 'postgres';
import type { DataSource, EntityManager } from 'typeorm';
import { expectTypeOf, test } from 'vitest';
import { idempotency } from '../../src/idempotency/index.ts';
import { event, holdfast } from '../../src/index.ts';
import { drizzleTx, knexTx, kyselyTx, mikroOrmTx, prismaTx, typeOrmTx } from '../../src/orm/index.ts';
import { postgres, postgresIdempotency } from '../../src/postgres/index.ts';
import { tryHandler } from '../../src/testing/index.ts';
import { type prismaClient, prismaClientOver } from '../postgres/support/prisma-client.ts';

interface Tables {
  orders: { id: string };
}
const placed = event<{ readonly id: string }>('order.placed');
const schema = {};
type DrizzleTx = Parameters<Parameters<NodePgDatabase<typeof schema>['transaction']>[0]>[0];
type DrizzleJsTx = Parameters<Parameters<PostgresJsDatabase<typeof schema>['transaction']>[0]>[0];
type Prisma = ReturnType<typeof prismaClient>;
type PrismaTx = Parameters<Parameters<Prisma['$transaction']>[0]>[0];

// Never called: what counts is what the compiler says.
function drizzles(pool: Pool, sql: Sql): void {
  const hf = holdfast({
    service: 's',
    store: postgres({ pool, wrap: drizzleTx((client) => drizzle(client, { schema })) }),
  });
  hf.on(placed, 'on', (_order, ctx) =>
    ctx.commit(async (tx) => {
      expectTypeOf(tx).toEqualTypeOf<DrizzleTx>();
      await hf.send(tx, placed, { id: '1' });
      await tx.transaction(async (inner) => void (await hf.send(inner, placed, { id: '1' })));
    }),
  );
  const db = drizzle(pool, { schema });
  void db.transaction((tx) => tryHandler(hf, 'on', placed, { id: '1' }, { tx }));
  const js = holdfast({
    service: 's',
    store: postgres({ pool: sql, wrap: drizzleTx((client) => drizzleJs(client, { schema })) }),
  });
  js.project(placed, 'project', (_order, tx) => {
    expectTypeOf(tx).toEqualTypeOf<DrizzleJsTx>();
  });
}

function pools(pool: Pool, prisma: Prisma): void {
  const kysely = kyselyTx((given) => new Kysely<Tables>({ dialect: new PostgresDialect({ pool: given }) }));
  holdfast({ service: 's', store: postgres({ pool, wrap: kysely }) }).project(placed, 'project', async (order, tx) => {
    expectTypeOf(tx).toEqualTypeOf<ControlledTransaction<Tables>>();
    await tx.insertInto('orders').values(order).execute();
    // @ts-expect-error -- there is no such table
    await tx.insertInto('order').values(order).execute();
  });
  const hf = holdfast({
    service: 's',
    store: postgres({ pool, wrap: prismaTx((given) => prismaClientOver(new PrismaPg(given))) }),
  });
  hf.project(placed, 'project', (_order, tx) => expectTypeOf(tx).toEqualTypeOf<PrismaTx>());
  void prisma.$transaction((tx) => tryHandler(hf, 'project', placed, { id: '1' }, { tx }));
  const mikro = mikroOrmTx(
    (given) => new MikroORM({ dbName: 'd', entities: [], driverOptions: new PostgresDialect({ pool: given }) }),
  );
  holdfast({ service: 's', store: postgres({ pool, wrap: mikro }) }).project(placed, 'project', (_order, tx) => {
    expectTypeOf(tx).not.toBeAny();
    expectTypeOf(tx).toExtend<MikroManager>();
  });
}

function instances(pool: Pool, sql: Sql, source: DataSource): void {
  const withKnex = holdfast({ service: 's', store: postgres({ pool, wrap: knexTx(knex({ client: 'pg' })) }) });
  withKnex.project(placed, 'project', (_order, tx) => expectTypeOf(tx).toEqualTypeOf<Knex.Transaction>());
  const withTypeOrm = holdfast({ service: 's', store: postgres({ pool, wrap: typeOrmTx(source) }) });
  withTypeOrm.project(placed, 'project', (_order, tx) => expectTypeOf(tx).toEqualTypeOf<EntityManager>());
  const idem = idempotency({ service: 's', store: postgresIdempotency({ pool, wrap: typeOrmTx(source) }) });
  void idem.once('key', (run) => run.commit(async (tx) => expectTypeOf(tx).toEqualTypeOf<EntityManager>()));
  // @ts-expect-error -- TypeORM works over pg
  postgres({ pool: sql, wrap: typeOrmTx(source) });
}

test('handlers get the transaction of an ORM in the types of the ORM, and tests can hand them their own [X.14]', () => {
  for (const typed of [drizzles, pools, instances]) expectTypeOf(typed).toBeFunction();
});
