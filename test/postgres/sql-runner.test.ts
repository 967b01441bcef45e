import { PGlite } from '@electric-sql/pglite';
import { drizzle as drizzlePg } from 'drizzle-orm/node-postgres';
import { drizzle as drizzlePglite } from 'drizzle-orm/pglite';
import { drizzle as drizzlePostgresJs } from 'drizzle-orm/postgres-js';
import { CamelCasePlugin, Kysely, ParseJSONResultsPlugin, PGliteDialect, PostgresDialect } from 'kysely';
import knex, { type Knex } from 'knex';
import { Client, Pool } from 'pg';
import postgresJs from 'postgres';
import { DataSource } from 'typeorm';
import { afterAll, beforeAll, describe, expect, onTestFinished } from 'vitest';
import { sqlRunner, transactionRunner, type SqlTransaction } from '../../src/postgres/sql-runner.ts';
import { needs } from '../support/needs.ts';
import { prismaClient } from './support/prisma-client.ts';
import { roundTrip } from './support/round-trip.ts';

/** One client: how its transactions are begun, and what it has that is none. */
interface ClientUnderTest {
  /** Runs the work in a transaction of the client; it is rolled back if the work throws. */
  transact(work: (tx: SqlTransaction) => Promise<void>): Promise<void>;
  /** The object that runs each statement on its own. */
  readonly outside: Parameters<typeof sqlRunner>[0];
}

const MAKE_TABLE = 'create table if not exists kept (client text, at int)';
const WRITE = 'insert into kept values ($1::text, $2::text::int)';
const READ = 'select at from kept where client = $1::text order by at';

const test = needs('postgres');
let lite: PGlite;
beforeAll(async () => {
  lite = await PGlite.create();
});
afterAll(() => lite.close());

const CLIENTS = {
  pg: (url) => {
    const pool = makePool(url);
    return { outside: pool, transact: (work) => transactPg(pool, work) };
  },
  'postgres.js': (url) => viaPostgresJs(url, {}),
  'postgres.js that fetches no types and renames to camel case': (url) =>
    viaPostgresJs(url, { fetch_types: false, transform: postgresJs.camel }),
  'postgres.js that renames to Pascal case and prepares nothing': (url) =>
    viaPostgresJs(url, { prepare: false, transform: postgresJs.pascal }),
  'a reserved connection of postgres.js': (url) => {
    const sql = makePostgresJs(url, {});
    return {
      outside: sql,
      transact: async (work) => {
        const reserved = await sql.reserve();
        try {
          await reserved`begin`;
          await work(reserved);
          await reserved`commit`;
        } catch (error) {
          await reserved`rollback`;
          throw error;
        } finally {
          reserved.release();
        }
      },
    };
  },
  'Drizzle on pg': (url) => {
    const db = drizzlePg(makePool(url));
    return { outside: db, transact: (work) => db.transaction(work) };
  },
  'Drizzle on postgres.js': (url) => {
    const db = drizzlePostgresJs(makePostgresJs(url, {}));
    return { outside: db, transact: (work) => db.transaction(work) };
  },
  'Drizzle on PGlite': () => {
    const db = drizzlePglite(lite);
    return { outside: db, transact: (work) => db.transaction(work) };
  },
  Kysely: (url) => {
    const db = new Kysely<object>({ dialect: new PostgresDialect({ pool: makePool(url) }) });
    return { outside: db, transact: (work) => db.transaction().execute(work) };
  },
  'a controlled transaction of Kysely with plugins that rename columns and parse JSON': (url) => {
    const dialect = new PostgresDialect({ pool: makePool(url) });
    const db = new Kysely<object>({ dialect, plugins: [new CamelCasePlugin(), new ParseJSONResultsPlugin()] });
    return {
      outside: db,
      transact: async (work) => {
        const trx = await db.startTransaction().execute();
        await work(trx).catch(async (error: unknown) => {
          await trx.rollback().execute();
          throw error;
        });
        await trx.commit().execute();
      },
    };
  },
  'Kysely on PGlite': () => {
    const db = new Kysely<object>({ dialect: new PGliteDialect({ pglite: lite }) });
    return { outside: db, transact: (work) => db.transaction().execute(work) };
  },
  Knex: (url) => {
    const db = makeKnex(url, {});
    return { outside: db, transact: (work) => db.transaction(work) };
  },
  'a transaction of Knex that is ended by hand, in a Knex that renames columns': (url) => {
    const db = makeKnex(url, { postProcessResponse: () => 'renamed', wrapIdentifier: (name) => `"${name}s"` });
    return {
      outside: db,
      transact: async (work) => {
        const trx = await db.transaction();
        await work(trx).catch(async (error: unknown) => {
          await trx.rollback();
          throw error;
        });
        await trx.commit();
      },
    };
  },
  'a savepoint of Knex': (url) => {
    const db = makeKnex(url, {});
    return { outside: db, transact: (work) => db.transaction((trx) => trx.transaction(work)) };
  },
  TypeORM: async (url) => {
    const source = await makeDataSource(url);
    return { outside: source, transact: (work) => source.transaction(work) };
  },
  'a query runner of TypeORM': async (url) => {
    const source = await makeDataSource(url);
    return {
      outside: source.manager,
      transact: async (work) => {
        const runner = source.createQueryRunner();
        await runner.startTransaction();
        try {
          await work(runner);
          await runner.commitTransaction();
        } catch (error) {
          await runner.rollbackTransaction();
          throw error;
        } finally {
          await runner.release();
        }
      },
    };
  },
  Prisma: (url) => {
    const db = makePrisma(url);
    return { outside: db, transact: (work) => db.$transaction(work) };
  },
  PGlite: () => ({ outside: lite, transact: (work) => lite.transaction(work) }),
} satisfies Record<string, (url: string) => ClientUnderTest | Promise<ClientUnderTest>>;

describe.each(Object.entries(CLIENTS))('%s', (name, open) => {
  test('keeps what was written in its committed transaction and nothing of a rolled back one [X.14]', async ({
    postgres,
  }) => {
    const client = await open(postgres.url);
    const reader = sqlRunner(client.outside);
    await reader.query(MAKE_TABLE);
    await client.transact(async (tx) => {
      await transactionRunner(tx).query(WRITE, [name, 1]);
    });
    const stop = new Error('rolled back by the test');
    const rolledBack = client.transact(async (tx) => {
      const inside = transactionRunner(tx);
      await inside.query(WRITE, [name, 2]);
      expect(await inside.query(READ, [name])).toEqual([{ at: 1 }, { at: 2 }]);
      throw stop;
    });
    await expect(rolledBack).rejects.toBe(stop);
    expect(await reader.query(READ, [name])).toEqual([{ at: 1 }]);
  });

  test('takes the same parameters as every other client [X.14]', async ({ postgres }) => {
    await (await open(postgres.url)).transact((tx) => roundTrip(sqlRunner(tx)));
  });

  test('runs all statements in one transaction, answers an update with its rows, and takes one value in two places [X.14]', async ({
    postgres,
  }) => {
    const client = await open(postgres.url);
    await sqlRunner(client.outside).query(MAKE_TABLE);
    await client.transact(async (tx) => {
      const inside = transactionRunner(tx);
      const where = async (): Promise<unknown> => inside.query('select pg_current_xact_id()::text as id');
      const first = await where();
      expect(await inside.query(WRITE, [name, 10])).toEqual([]);
      const moved = 'update kept set at = at + $2::text::int where client = $1::text and at = 5 + $2::text::int';
      expect(await inside.query(`${moved} returning at, '?' as mark`, [name, 5])).toEqual([{ at: 15, mark: '?' }]);
      const removed = 'delete from kept where client = $1::text and at = 15 returning at';
      expect(await inside.query(removed, [name])).toEqual([{ at: 15 }]);
      expect(await where()).toEqual(first);
    });
  });

  test('refuses a NUL and reports the SQLSTATE, not the values [X.14]', async ({ postgres }) => {
    const client = await open(postgres.url);
    const failure = await client
      .transact(async (tx) => {
        await sqlRunner(tx).query('select $1::text as value', ['secret\0value']);
      })
      .catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: '22021' });
    expect(String(failure)).not.toContain('secret');
  });

  test('is refused as a transaction when it is none [X.14]', async ({ postgres }) => {
    const { outside } = await open(postgres.url);
    expect(sqlRunner(outside).inTransaction).toBe(false);
    expect(() => transactionRunner(outside as SqlTransaction)).toThrow(
      expect.objectContaining({ code: 'TRANSACTION_NOT_OPEN' }),
    );
  });
});

test('a Promise of a connection is refused with the advice to await it [X.14]', async ({ postgres }) => {
  const connecting = makePool(postgres.url).connect();
  expect(() => transactionRunner(connecting as unknown as SqlTransaction)).toThrow(/await it first/);
  (await connecting).release();
});

test('a pg client is in a transaction between begin and commit only [X.14]', async ({ postgres }) => {
  const client = new Client(postgres.url);
  const seen: unknown[] = [sqlRunner(client).inTransaction];
  await client.connect();
  for (const statement of ['select 1', 'begin', 'commit']) {
    await client.query(statement);
    seen.push(sqlRunner(client).inTransaction);
  }
  await client.query('begin');
  await expect(client.query('select 1 / 0')).rejects.toThrow('division by zero');
  seen.push(sqlRunner(client).inTransaction);
  await client.end();
  expect(seen).toEqual([false, false, true, false, true]);
});

test('an ended pg client rejects instead of waiting [X.14]', async ({ postgres }) => {
  const client = new Client(postgres.url);
  await client.connect();
  await client.end();
  await expect(sqlRunner(client).query('select 1')).rejects.toThrow(/closed/);
});

test('an ended postgres.js rejects instead of waiting [X.14]', async ({ postgres }) => {
  const sql = postgresJs(postgres.url);
  await sql.end();
  await expect(sqlRunner(sql).query('select 1')).rejects.toMatchObject({ code: 'CONNECTION_ENDED' });
});

test.for([
  'pg',
  'Drizzle on pg',
  'Drizzle on PGlite',
  'Knex',
  'a savepoint of Knex',
  'TypeORM',
  'a query runner of TypeORM',
  'PGlite',
] as const)('a transaction of %s that has ended is refused [X.14]', async (name, { postgres }) => {
  const tx = await leak(await CLIENTS[name](postgres.url));
  expect(() => transactionRunner(tx)).toThrow(expect.objectContaining({ code: 'TRANSACTION_NOT_OPEN' }));
});

test('a transaction of Kysely that has ended runs nothing [X.14]', async ({ postgres }) => {
  const client = CLIENTS['a controlled transaction of Kysely with plugins that rename columns and parse JSON'](
    postgres.url,
  );
  const tx = await leak(client);
  await expect(transactionRunner(tx).query('select 1')).rejects.toThrow(/already committed/);
});

test('a transaction of Prisma that has ended, or has taken too long, runs nothing [X.14]', async ({ postgres }) => {
  const tx = await leak(CLIENTS.Prisma(postgres.url));
  const notOpen = { code: 'TRANSACTION_NOT_OPEN', details: { client: 'prisma' } };
  await expect(transactionRunner(tx).query('select 1')).rejects.toMatchObject(notOpen);
  const late = makePrisma(postgres.url).$transaction(
    async (short) => {
      const runner = transactionRunner(short);
      await expect.poll(() => runner.query('select 1').catch((error: unknown) => error)).toMatchObject(notOpen);
    },
    { timeout: 50 },
  );
  await expect(late).rejects.toMatchObject({ code: 'P2028' });
});

test('a transaction of Knex that ends after it was accepted runs nothing [X.14]', async ({ postgres }) => {
  const trx = await makeKnex(postgres.url, {}).transaction();
  const runner = transactionRunner(trx);
  await trx.commit();
  await expect(runner.query('select 1')).rejects.toMatchObject({ code: 'TRANSACTION_NOT_OPEN' });
});

test('a transaction of Knex that is not awaited is refused with the advice to await it [X.14]', async ({
  postgres,
}) => {
  const beginning = makeKnex(postgres.url, {}).transaction();
  expect(() => transactionRunner(beginning as unknown as SqlTransaction)).toThrow(/await it first/);
  await (await beginning).rollback();
});

/** The transaction object, after its end. */
async function leak(client: ClientUnderTest): Promise<SqlTransaction> {
  const { promise, resolve } = Promise.withResolvers<SqlTransaction>();
  await client.transact(async (tx) => resolve(tx));
  return promise;
}

function makePool(url: string): Pool {
  const pool = new Pool({ connectionString: url, max: 2 });
  onTestFinished(() => pool.end());
  return pool;
}

function makeKnex(url: string, config: Knex.Config): Knex {
  const db = knex({ client: 'pg', connection: url, pool: { min: 0, max: 2 }, ...config });
  onTestFinished(() => db.destroy());
  return db;
}

async function makeDataSource(url: string): Promise<DataSource> {
  const source = await new DataSource({ type: 'postgres', url, poolSize: 2 }).initialize();
  onTestFinished(() => source.destroy());
  return source;
}

function makePrisma(url: string): ReturnType<typeof prismaClient> {
  const db = prismaClient(makePool(url));
  onTestFinished(() => db.$disconnect());
  return db;
}

function makePostgresJs(url: string, options: postgresJs.Options<Record<string, never>>): postgresJs.Sql {
  const sql = postgresJs(url, { max: 2, onnotice: () => undefined, ...options });
  onTestFinished(() => sql.end());
  return sql;
}

function viaPostgresJs(url: string, options: postgresJs.Options<Record<string, never>>): ClientUnderTest {
  const sql = makePostgresJs(url, options);
  return {
    outside: sql,
    transact: async (work) => {
      await sql.begin(work);
    },
  };
}

async function transactPg(pool: Pool, work: (tx: SqlTransaction) => Promise<void>): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query('begin');
    await work(client);
    await client.query('commit');
  } catch (error) {
    await client.query('rollback');
    throw error;
  } finally {
    client.release();
  }
}
