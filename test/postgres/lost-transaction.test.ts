import { Pool } from 'pg';
import postgresJs, { type TransactionSql } from 'postgres';
import { beforeAll, describe, expect, onTestFinished, test as plainTest } from 'vitest';
import { ConnectionLost, type Driver, type Query } from '../../src/postgres/driver/driver.ts';
import { findDriver } from '../../src/postgres/driver/find-driver.ts';
import { sqlRunner, type SqlTransaction } from '../../src/postgres/sql-runner.ts';
import { systemEffects } from '../../src/system/effects.ts';
import { needs, type TestServer } from '../support/needs.ts';
import { sharedPglite } from '../support/shared-pglite.ts';
import { connect } from './support/fresh-schema.ts';

const test = needs('postgres');
const LONG_MS = 60_000;
const SHORT_MS = 300;

/** One connection, so that whoever comes next has the one before. */
const CLIENTS: readonly { readonly name: string; open(server: TestServer): unknown }[] = [
  {
    name: 'pg',
    open: (server) => {
      const pool = new Pool({ connectionString: server.url, max: 1 });
      pool.on('error', () => undefined);
      onTestFinished(() => pool.end());
      return pool;
    },
  },
  {
    name: 'postgres.js',
    open: (server) => openPostgresJs(server),
  },
];

function openPostgresJs(server: TestServer, onclose?: () => void): ReturnType<typeof postgresJs> {
  const sql = postgresJs(server.url, { max: 1, onnotice: () => undefined, ...(onclose && { onclose }) });
  onTestFinished(() => sql.end({ timeout: 1 }));
  return sql;
}

interface Transactions<Tx> {
  readonly driver: Driver<unknown>;
  transaction<T>(restMs: number, work: (tx: Tx, query: Query) => PromiseLike<T>): Promise<T>;
}

/** Effects without a completion. `query` goes the way of the effect, not ours. */
function driverOf<Tx = unknown>(pool: unknown): Transactions<Tx> {
  const driver = findDriver(pool, systemEffects);
  if (driver === undefined) throw new Error('no driver for this pool');
  return {
    driver,
    transaction: (restMs, work) =>
      driver.transaction(
        restMs,
        async (tx) => {
          const { query } = sqlRunner(tx as SqlTransaction);
          return work(tx as Tx, async (text, params) => (await query(text, params)).map((row) => Object.values(row)));
        },
        async (_, result) => result,
      ),
  };
}

/** What it rejects with. */
async function errorOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => 'no error',
    (error: unknown) => error,
  );
}

interface Witness {
  readonly table: string;
  lines(): Promise<readonly string[]>;
}

/** A table, and a connection that sees what was committed to it. */
async function witness(server: TestServer, name: string): Promise<Witness & Awaited<ReturnType<typeof connect>>> {
  const client = await connect(server);
  const table = `${server.namespace}.${name}`;
  await client.query(`create table ${table} (line text)`);
  const lines = async (): Promise<readonly string[]> =>
    (await client.query<{ line: string }>(`select line from ${table} order by line`)).rows.map(({ line }) => line);
  return Object.assign(client, { table, lines });
}

for (const { name, open } of CLIENTS) {
  const slug = name.replace('.', '_');
  describe(`a transaction over ${name}`, () => {
    test(`of ${name} that was given up reaches nobody afterwards, not the transaction that has its place [X.3]`, async ({
      postgres: server,
    }) => {
      const seen = await witness(server, `given_up_${slug}`);
      const driver = driverOf(open(server));
      const mayGoOn = Promise.withResolvers<void>();
      const ended: unknown[] = [];
      const first = driver.transaction(SHORT_MS, async (_, query) => {
        await query(`insert into ${seen.table} values ('first')`, []);
        await mayGoOn.promise;
        ended.push(await errorOf(query(`insert into ${seen.table} values ('late')`, [])));
        return 'its commit must not be sent';
      });
      expect(await errorOf(first)).toMatchObject({ code: 'TRANSACTION_RESTED', details: { restMs: SHORT_MS } });
      const second = driver.transaction(LONG_MS, async (_, query) => {
        await query(`insert into ${seen.table} values ('second')`, []);
        mayGoOn.resolve();
        await expect.poll(() => ended).toHaveLength(1);
        // What the first might send has arrived when this is answered.
        await query('select 1', []);
        throw new Error('second is rolled back');
      });
      expect(await errorOf(second)).toMatchObject({ message: 'second is rolled back' });
      await driver.transaction(LONG_MS, (_, query) => query(`insert into ${seen.table} values ('third')`, []));
      expect(await seen.lines()).toEqual(['third']);
      expect(ended).toEqual([expect.any(Error)]);
    });

    test(`of ${name} whose session is ended within a statement is lost, and the next has a sound connection`, async ({
      postgres: server,
    }) => {
      const seen = await witness(server, `ended_${slug}`);
      const driver = driverOf(open(server));
      const endIt = async (pid: unknown): Promise<void> => {
        const sleeps = `select from pg_stat_activity where pid = $1 and query like '%pg_sleep%' and state = 'active'`;
        await expect.poll(async () => (await seen.query(sleeps, [pid])).rowCount).toBe(1);
        await seen.query('select pg_terminate_backend($1)', [pid]);
      };
      const heard: unknown[] = [];
      const first = driver.transaction(LONG_MS, async (_, query) => {
        const [row] = await query('select pg_backend_pid()', []);
        const ending = endIt(row?.[0]);
        // It goes on at once, as code does that tries in vain to clean up.
        heard.push(await errorOf(query('select pg_sleep(60)::text', [])));
        heard.push(await errorOf(query(`insert into ${seen.table} values ('first')`, [])));
        await ending;
        throw new Error('own');
      });
      expect(await errorOf(first)).toBeInstanceOf(ConnectionLost);
      await expect.poll(() => heard).toEqual([expect.any(Error), expect.any(Error)]);
      const next = (): Promise<string> =>
        driver
          .transaction(LONG_MS, (_, query) => query(`insert into ${seen.table} values ('second')`, []))
          // postgres.js tells the first statement of a connection opened again why the one before was ended.
          .then(
            () => 'kept',
            () => 'lost',
          );
      await expect.poll(next).toBe('kept');
      expect(await seen.lines()).toEqual(['second']);
    });

    test(`of ${name} that goes on for longer than it may rest is not given up while it asks`, async ({
      postgres: server,
    }) => {
      const seen = await witness(server, `busy_${slug}`);
      await driverOf(open(server)).transaction(SHORT_MS, async (_, query) => {
        await query(`insert into ${seen.table} values ('first')`, []);
        for (let i = 0; i < 5; i += 1) await query(`select pg_sleep(${(SHORT_MS / 1_000) * 0.5})::text`, []);
        await query(`select pg_sleep(${(SHORT_MS / 1_000) * 1.5})::text`, []);
      });
      expect(await seen.lines()).toEqual(['first']);
    });
  });
}

describe('a transaction of postgres.js', () => {
  test('refuses statements that were made before its end and sent after it', async ({ postgres: server }) => {
    const seen = await witness(server, 'lazy');
    const driver = driverOf<TransactionSql>(openPostgresJs(server));
    const made: { readonly statement: PromiseLike<unknown> }[] = [];
    await driver.transaction(LONG_MS, async (tx) => {
      await tx.unsafe(`insert into ${seen.table} values ('in time')`);
      // In an object: a function that returned it would wait for it, and so send it.
      made.push({ statement: tx`insert into ${tx(seen.table)} values ('late')` });
    });
    const late = (async () => made[0]?.statement)();
    await expect(late).rejects.toMatchObject({ code: 'TRANSACTION_NOT_OPEN' });
    expect(await seen.lines()).toEqual(['in time']);
  });

  test('has its savepoints, fragments and cursors, and a savepoint that hangs is given up with it', async ({
    postgres: server,
  }) => {
    const seen = await witness(server, 'savepoints');
    const sql = openPostgresJs(server);
    const driver = driverOf<TransactionSql>(sql);
    const insert = (tx: TransactionSql, line: string): PromiseLike<unknown> =>
      tx`insert into ${tx(seen.table)} ${tx({ line })}`;
    const counted = await driver.transaction(LONG_MS, async (tx) => {
      await tx.savepoint(async (inner) => insert(inner, 'kept'));
      await tx.savepoint('named', (inner) => [insert(inner, 'also kept'), insert(inner, 'and this')]);
      const undone = tx.savepoint(async (inner) => {
        await insert(inner, 'undone');
        throw new Error('undo');
      });
      await expect(undone).rejects.toThrow('undo');
      let rows = 0;
      for await (const part of tx`select line from ${tx(seen.table)} where ${tx`true`}`.cursor(2)) rows += part.length;
      return rows;
    });
    expect(counted).toBe(3);
    expect(await seen.lines()).toEqual(['also kept', 'and this', 'kept']);

    const mayGoOn = Promise.withResolvers<void>();
    let isLate = false;
    const hanging = driver.transaction(SHORT_MS, (tx) =>
      tx.savepoint(async (inner) => {
        await insert(inner, 'hung');
        await mayGoOn.promise;
        isLate = true;
      }),
    );
    expect(await errorOf(hanging)).toMatchObject({ code: 'TRANSACTION_RESTED' });
    const next = driver.transaction(LONG_MS, async (tx) => {
      await insert(tx, 'next');
      mayGoOn.resolve();
      await expect.poll(() => isLate).toBe(true);
      await tx`select 1`;
      throw new Error('next is rolled back');
    });
    expect(await errorOf(next)).toMatchObject({ message: 'next is rolled back' });
    expect(await seen.lines()).toHaveLength(3);
  });

  test('whose session is ended between two rows of a cursor is lost, and the process lives', async ({
    postgres: server,
  }) => {
    const seen = await witness(server, 'cursors');
    const driver = driverOf<TransactionSql>(openPostgresJs(server));
    const reading = driver.transaction(LONG_MS, async (tx) => {
      for await (const [row] of tx`select pg_backend_pid() as pid from generate_series(1, 1000)`.cursor(1)) {
        const ended = `select pg_terminate_backend($1)`;
        const lives = `select from pg_stat_activity where pid = $1`;
        await seen.query(ended, [row?.['pid']]);
        await expect.poll(async () => (await seen.query(lives, [row?.['pid']])).rowCount).toBe(0);
      }
    });
    expect(await errorOf(reading)).toBeInstanceOf(ConnectionLost);
    const next = (): Promise<unknown> => errorOf(driver.transaction(LONG_MS, async () => 'sound'));
    await expect.poll(next).toBe('no error');
  });

  test('whose session is ended while the function of a cursor runs sends nothing more for it, and the process lives', async ({
    postgres: server,
  }) => {
    const seen = await witness(server, 'cursor_functions');
    let closed = Promise.withResolvers<void>();
    const driver = driverOf<TransactionSql>(openPostgresJs(server, () => closed.resolve()));
    /** Loses its connection in a cursor's function, which ends once the connection is gone: by itself, or with the effect. */
    const lost = (isAlone: boolean): Promise<unknown> =>
      driver.transaction(LONG_MS, async (tx) => {
        const end = async ([{ pid }]: [{ pid: number }]): Promise<void> => {
          await seen.query(`select pg_terminate_backend($1)`, [pid]);
          await (isAlone ? closed.promise : new Promise<never>(() => undefined));
        };
        const half = tx`select pg_backend_pid() as pid from generate_series(1, 1000)`.cursor(1, end as never);
        await expect(half).rejects.toMatchObject({ code: '57P01' });
        await closed.promise;
        throw new Error('the effect gives up');
      });
    const next = (): Promise<unknown> => errorOf(driver.transaction(LONG_MS, async (tx) => tx`select 1`));
    for (const isAlone of [true, false]) {
      closed = Promise.withResolvers<void>();
      expect(await errorOf(lost(isAlone))).toBeInstanceOf(ConnectionLost);
      await expect.poll(next).toBe('no error');
    }
  });

  test('goes on after an error of its server that only sounds like a lost connection', async ({ postgres: server }) => {
    const seen = await witness(server, 'sounds_lost');
    const driver = driverOf<TransactionSql>(openPostgresJs(server));
    // As postgres_fdw and dblink say it of a server behind this one.
    const elsewhere = `do $$ begin raise exception 'elsewhere' using errcode = '08006'; end $$`;
    const works = driver.transaction(LONG_MS, async (tx) => {
      await tx`insert into ${tx(seen.table)} values ('kept')`;
      const failing = tx.savepoint((inner) => inner.unsafe(elsewhere));
      await expect(failing).rejects.toMatchObject({ code: '08006' });
      return 'works';
    });
    expect(await works).toBe('works');
    const fails = driver.transaction(LONG_MS, async (tx) => tx.unsafe(elsewhere));
    expect(await errorOf(fails)).toMatchObject({ code: '08006', severity: 'ERROR' });
    expect(await seen.lines()).toEqual(['kept']);
  });

  test('rejects with what its function threw, also an error of another connection', async ({ postgres: server }) => {
    const driver = driverOf(openPostgresJs(server));
    const elsewhere = Object.assign(new Error('elsewhere'), { code: 'CONNECTION_CLOSED' });
    const failing = driver.transaction(LONG_MS, async () => {
      throw elsewhere;
    });
    expect(await errorOf(failing)).toBe(elsewhere);
    const undefinedValue = driver.transaction(LONG_MS, async (tx) => {
      await (tx as TransactionSql)`select ${undefined as never}`;
    });
    expect(await errorOf(undefinedValue)).toMatchObject({ code: 'UNDEFINED_VALUE' });
    expect(await driver.transaction(LONG_MS, async () => 'sound')).toBe('sound');
  });
});

describe('a transaction of PGlite', () => {
  beforeAll(async () => void (await sharedPglite()));

  plainTest(
    'that rests is rolled back, and everything else goes on, heartbeats before other effects [X.3]',
    async () => {
      const db = await sharedPglite();
      await db.exec('create table seen (line text)');
      const driver = driverOf(db);
      // As a worker's link is by then: its first statement reads the default isolation level before it.
      const link = driver.driver.link();
      await link.query('select 1', []);
      const log: string[] = [];
      const mayGoOn = Promise.withResolvers<void>();
      let late: unknown;
      const hanging = driver.transaction(SHORT_MS, async (_, query) => {
        await query(`insert into seen values ('hung')`, []);
        log.push('first hangs');
        await mayGoOn.promise;
        late = await errorOf(query(`insert into seen values ('late')`, []));
      });
      const second = driver.transaction(LONG_MS, async (_, query) => {
        log.push('second begins');
        await query(`insert into seen values ('second')`, []);
        mayGoOn.resolve();
        await expect.poll(() => late).toBeInstanceOf(Error);
        await query(`select 1`, []);
      });
      await expect.poll(() => log).toEqual(['first hangs']);
      const beat = link.query('select 1', []).then(() => log.push('beat'));
      expect(await errorOf(hanging)).toMatchObject({ code: 'TRANSACTION_RESTED', details: { restMs: SHORT_MS / 2 } });
      await Promise.all([second, beat]);
      expect(log).toEqual(['first hangs', 'beat', 'second begins']);
      expect((await db.query('select line from seen')).rows).toEqual([{ line: 'second' }]);
    },
  );
});
