import { EntitySchema as MikroEntity, MikroORM } from '@mikro-orm/postgresql';
import { PrismaPg } from '@prisma/adapter-pg';
import { sql as drizzleSql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import { pgTable, text } from 'drizzle-orm/pg-core';
import { drizzle as drizzleJs } from 'drizzle-orm/postgres-js';
import knex from 'knex';
import { CompiledQuery, type ControlledTransaction, Kysely, PostgresDialect } from 'kysely';
import { Pool } from 'pg';
import postgresJs, { type Sql } from 'postgres';
import { DataSource, type EntityManager, EntitySchema } from 'typeorm';
import { drizzleTx, knexTx, kyselyTx, mikroOrmTx, prismaTx, typeOrmTx } from '../../../src/orm/index.ts';
import type { SqlTransaction, TransactionAdapter } from '../../../src/postgres/index.ts';
import { prismaClientOver } from '../../postgres/support/prisma-client.ts';

/** One ORM over one client: how a message is sent in its transaction, and what it can do with the one that a handler gets. */
interface Orm<Tx extends SqlTransaction> {
  readonly pool: Pool | Sql;
  readonly wrap: TransactionAdapter<never, Tx>;
  /** In a transaction of its own, as an application has it. */
  transact(work: (tx: Tx) => Promise<void>): Promise<unknown>;
  /** As an application writes a row. */
  insert(tx: Tx, line: string): Promise<unknown>;
  /** By its way to say SQL. */
  raw(tx: Tx, text: string): PromiseLike<unknown>;
  nested(tx: Tx, work: (inner: Tx) => Promise<void>): Promise<unknown>;
  /** Every way there is to end `tx` by a method of its own, or to begin another below it. */
  readonly ends: Readonly<Record<string, (tx: Tx) => Promise<unknown>>>;
  /** Every way there is to a connection that is not the one of `tx`. Each writes the line by it. */
  readonly reaches: Readonly<Record<string, (tx: Tx, line: string) => Promise<unknown>>>;
  close(): Promise<unknown>;
}

/** What the tests know of all of them alike. */
export type AnyOrm = Orm<SqlTransaction>;

/** A URL whose sessions find the tables of one schema without its name. */
type Open = (url: string, schema: string) => Promise<AnyOrm>;

function pooled(url: string): Pool {
  const pool = new Pool({ connectionString: url, max: 6 });
  pool.on('error', () => undefined);
  return pool;
}

const own = pgTable('own', { line: text('line').notNull() });

async function openDrizzle(url: string): Promise<unknown> {
  const pool = pooled(url);
  const db = drizzle(pool, { schema: { own } });
  type Tx = Parameters<Parameters<typeof db.transaction>[0]>[0];
  const inside = (tx: Tx): { readonly client: Pool } => (tx as unknown as { session: { client: Pool } }).session;
  const orm: Orm<Tx> = {
    pool,
    wrap: drizzleTx((client) => drizzle(client, { schema: { own } })),
    transact: (work) => db.transaction(work),
    insert: (tx, line) => tx.insert(own).values({ line }),
    raw: (tx, statement) => tx.execute(drizzleSql.raw(statement)),
    nested: (tx, work) => tx.transaction(work),
    ends: {
      'a new database over its client': (tx) => drizzle(inside(tx).client).execute(drizzleSql`commit`),
      'release of its client': async (tx) => (inside(tx).client as unknown as { release(): void }).release(),
      'end of its client': (tx) => inside(tx).client.end(),
    },
    reaches: {
      'a new database over its client': (tx, line) =>
        drizzle(inside(tx).client).transaction((inner) => inner.insert(own).values({ line })),
    },
    close: () => pool.end(),
  };
  return orm;
}

async function openDrizzleJs(url: string, schema: string): Promise<unknown> {
  const pool = postgresJs(url, { max: 12, onnotice: () => undefined, connection: { search_path: schema } });
  const db = drizzleJs(pool, { schema: { own } });
  type Tx = Parameters<Parameters<typeof db.transaction>[0]>[0];
  type Client = ReturnType<typeof postgresJs>;
  const inside = (tx: Tx): { readonly client: Client } => (tx as unknown as { session: { client: Client } }).session;
  const orm: Orm<Tx> = {
    pool,
    wrap: drizzleTx((client) => drizzleJs(client, { schema: { own } })),
    transact: (work) => db.transaction(work),
    insert: (tx, line) => tx.insert(own).values({ line }),
    raw: (tx, statement) => tx.execute(drizzleSql.raw(statement)),
    nested: (tx, work) => tx.transaction(work),
    ends: {
      'commit of its client': async (tx) => inside(tx).client.unsafe('commit'),
      'end of its client': (tx) => inside(tx).client.end(),
    },
    reaches: {
      'a transaction of its client': (tx, line) =>
        inside(tx).client.begin((inner) => inner`insert into own values (${line})`),
    },
    close: () => pool.end({ timeout: 1 }),
  };
  return orm;
}

interface Tables {
  own: { line: string };
}

async function openKysely(url: string): Promise<unknown> {
  const pool = pooled(url);
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
  type Tx = ControlledTransaction<Tables>;
  const orm: Orm<Tx> = {
    pool,
    wrap: kyselyTx((given) => new Kysely<Tables>({ dialect: new PostgresDialect({ pool: given }) })),
    transact: async (work) => {
      const trx = await db.startTransaction().execute();
      try {
        await work(trx);
        await trx.commit().execute();
      } catch (error) {
        await trx.rollback().execute();
        throw error;
      }
    },
    insert: (tx, line) => tx.insertInto('own').values({ line }).execute(),
    raw: (tx, statement) => tx.executeQuery(CompiledQuery.raw(statement)),
    nested: async (tx, work) => {
      const inner = await tx.savepoint('nested').execute();
      try {
        await work(inner);
        await inner.releaseSavepoint('nested').execute();
      } catch (error) {
        await inner.rollbackToSavepoint('nested').execute();
        throw error;
      }
    },
    ends: {
      'tx.commit()': (tx) => tx.commit().execute(),
      'tx.rollback()': (tx) => tx.rollback().execute(),
    },
    reaches: {},
    close: () => db.destroy(),
  };
  return orm;
}

async function openKnex(url: string): Promise<unknown> {
  const pool = pooled(url);
  const database = knex({ client: 'pg', connection: url, pool: { min: 0, max: 2 } });
  const orm: Orm<knex.Knex.Transaction> = {
    pool,
    wrap: knexTx(database),
    transact: (work) => database.transaction(work),
    insert: (tx, line) => tx('own').insert({ line }),
    raw: (tx, statement) => tx.raw(statement),
    nested: (tx, work) => tx.transaction(work),
    ends: {
      'tx.commit()': async (tx) => tx.commit(),
      'tx.rollback()': async (tx) => tx.rollback(new Error('rolled back by the handler')),
    },
    reaches: {
      'a connection of tx.client': async (tx, line) => {
        const client = (await tx.client.acquireConnection()) as Pool;
        await client.query('insert into own values ($1)', [line]);
      },
    },
    close: async () => Promise.all([pool.end(), database.destroy()]),
  };
  return orm;
}

async function openPrisma(url: string): Promise<unknown> {
  const pool = pooled(url);
  const prisma = prismaClientOver(new PrismaPg(pool));
  type Tx = Parameters<Parameters<typeof prisma.$transaction>[0]>[0];
  const parent = (tx: Tx): typeof prisma => Reflect.get(tx, '_originalClient') as typeof prisma;
  const orm: Orm<Tx> = {
    pool,
    wrap: prismaTx((given) => prismaClientOver(new PrismaPg(given))),
    transact: (work) => prisma.$transaction(work),
    insert: (tx, line) => tx.$executeRawUnsafe('insert into own values ($1)', line),
    raw: (tx, statement) => tx.$executeRawUnsafe(statement),
    nested: (tx, work) => (tx as unknown as typeof prisma).$transaction(work),
    ends: {},
    reaches: {
      'the client behind tx': (tx, line) => parent(tx).$executeRawUnsafe('insert into own values ($1)', line),
      'a transaction of the client behind tx': (tx, line) =>
        parent(tx).$transaction((inner) => inner.$executeRawUnsafe('insert into own values ($1)', line)),
    },
    close: async () => {
      await prisma.$disconnect();
      await pool.end();
    },
  };
  return orm;
}

const Own = new EntitySchema<{ line: string }>({
  name: 'Own',
  tableName: 'own',
  columns: { line: { type: 'text', primary: true } },
});

async function openTypeOrm(url: string): Promise<unknown> {
  const pool = pooled(url);
  const source = await new DataSource({ type: 'postgres', url, poolSize: 2, entities: [Own] }).initialize();
  const orm: Orm<EntityManager> = {
    pool,
    wrap: typeOrmTx(source),
    transact: (work) => source.transaction(work),
    insert: (tx, line) => tx.getRepository(Own).insert({ line }),
    raw: (tx, statement) => tx.query(statement),
    nested: (tx, work) => tx.transaction(work),
    ends: {
      'commitTransaction of its query runner': async (tx) => tx.queryRunner?.commitTransaction(),
      'rollbackTransaction of its query runner': async (tx) => tx.queryRunner?.rollbackTransaction(),
    },
    reaches: {
      'tx.dataSource': (tx, line) => tx.dataSource.query('insert into own values ($1)', [line]),
      'a transaction of tx.dataSource': (tx, line) =>
        tx.dataSource.transaction((inner) => inner.getRepository(Own).insert({ line })),
      'a query runner of tx.dataSource': async (tx, line) => {
        const runner = tx.dataSource.createQueryRunner();
        await runner.query('insert into own values ($1)', [line]);
        await runner.release();
      },
    },
    close: async () => Promise.all([pool.end(), source.destroy()]),
  };
  return orm;
}

const MikroOwn = new MikroEntity<{ line: string }>({
  name: 'Own',
  tableName: 'own',
  properties: { line: { type: 'text', primary: true } },
});

async function openMikroOrm(url: string, schema: string): Promise<unknown> {
  const config = { clientUrl: url, entities: [MikroOwn], ensureDatabase: false };
  const mikro = new MikroORM({ ...config, driverOptions: { options: `-c search_path=${schema}` } });
  const pool = await mikro.em.getConnection().getNativeClient();
  type Tx = ReturnType<typeof mikro.em.fork>;
  const orm: Orm<Tx> = {
    pool,
    wrap: mikroOrmTx((given) => new MikroORM({ ...config, driverOptions: new PostgresDialect({ pool: given }) })),
    transact: (work) => mikro.em.fork().transactional(work),
    insert: (tx, line) => tx.insert(MikroOwn, { line }),
    raw: (tx, statement) => tx.execute(statement),
    nested: (tx, work) => tx.transactional(work),
    ends: {
      'tx.commit()': (tx) => tx.commit(),
      'tx.rollback()': (tx) => tx.rollback(),
    },
    reaches: {
      'a fork of tx': (tx, line) => tx.fork().insert(MikroOwn, { line }),
      'a transaction of its own': (tx, line) =>
        tx.transactional((inner) => inner.insert(MikroOwn, { line }), { propagation: 'requires_new' }),
      'a second begin': async (tx, line) => {
        await tx.begin();
        await tx.insert(MikroOwn, { line });
        await tx.commit();
      },
    },
    close: () => mikro.close(),
  };
  return orm;
}

/** Each ORM that handlers get the transaction of. */
export const ORMS: Readonly<Record<string, Open>> = Object.fromEntries(
  Object.entries({
    'Drizzle over pg': openDrizzle,
    'Drizzle over postgres.js': openDrizzleJs,
    Kysely: openKysely,
    Knex: openKnex,
    Prisma: openPrisma,
    TypeORM: openTypeOrm,
    MikroORM: openMikroOrm,
  }).map(([name, open]) => [name, open as Open]),
);
