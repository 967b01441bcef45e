import type { Transaction } from '@electric-sql/pglite';
import pg, { type PoolClient } from 'pg';
import Cursor from 'pg-cursor';
import QueryStream from 'pg-query-stream';
import postgresJs, { type TransactionSql } from 'postgres';
import { onTestFinished } from 'vitest';
import { postgres, postgresIdempotency, type SqlPool, type TransactionOf } from '../../src/postgres/index.ts';
import { type SqlConnection, sqlRunner, type SqlTransaction } from '../../src/postgres/sql-runner.ts';
import type { RelayStore } from '../../src/relay/relay-store.ts';
import { freshSchema, freshSchemaOn } from '../support/fresh-schema.ts';
import type { TestServer } from '../support/needs.ts';
import { sharedPglite } from '../support/shared-pglite.ts';
import type { EscapeKind, EscapeStage } from './escape-kind.ts';

/** A stage over a pool, whose effects are given what `wrap` makes of the pool's own transaction. */
async function stageOver<Pool extends SqlPool, Tx = TransactionOf<Pool>>(
  pool: Pool,
  schema: string,
  within: EscapeStage<Tx>['within'],
  wrap?: (tx: TransactionOf<Pool>) => Tx,
): Promise<EscapeStage<Tx>> {
  const runner = sqlRunner(pool as unknown as SqlConnection);
  await runner.query(`create table ${schema}.effect (line text not null)`);
  return {
    schema,
    store: postgres({ pool, schema, wrap }) as unknown as RelayStore<Tx>,
    idempotency: postgresIdempotency({ pool, schema, wrap }),
    within,
    column: async (text) =>
      (await runner.query(text.replaceAll('$', `"${schema}"`))).map((row) => Object.values(row)[0]),
  };
}

/** A stage over pg. */
async function pgStage<Tx = PoolClient>(server: TestServer, wrap?: (tx: PoolClient) => Tx): Promise<EscapeStage<Tx>> {
  const schema = await freshSchema(server);
  const pool = new pg.Pool({ connectionString: server.url, max: 2 });
  pool.on('error', () => undefined);
  onTestFinished(() => pool.end());
  const within = async (work: (tx: SqlTransaction) => Promise<void>): Promise<void> => {
    const tx = await pool.connect();
    await tx.query('begin');
    await work(tx);
    await tx.query('commit');
    tx.release();
  };
  return stageOver<pg.Pool, Tx>(pool, schema, within, wrap);
}

/** A stage over postgres.js. */
async function postgresJsStage<Tx = TransactionSql>(
  server: TestServer,
  wrap?: (tx: TransactionSql) => Tx,
): Promise<EscapeStage<Tx>> {
  const schema = await freshSchema(server);
  const sql = postgresJs(server.url, { max: 3, onnotice: () => undefined });
  onTestFinished(() => sql.end({ timeout: 1 }));
  return stageOver<postgresJs.Sql, Tx>(sql, schema, async (work) => sql.begin(work), wrap as never);
}

type Loose = Record<string, (...args: unknown[]) => unknown>;

const loose = (value: unknown): Loose => value as Loose;

/** As what traces statements does it: ours must not go through it. */
function patch(tx: unknown, ...names: readonly string[]): void {
  for (const name of names) {
    const method = loose(tx)[name];
    loose(tx)[name] = (...args) => Reflect.apply(method as Loose[string], tx, args);
  }
}

/** pg, without anything in between. */
export const PG: EscapeKind<PoolClient> = {
  name: 'pg',
  open: pgStage,
  run: (tx, text) => tx.query(text),
  insert: (tx, table, line) => tx.query(`insert into ${table} values ($1)`, [line]),
  nested: async (tx, work) => {
    await tx.query('begin');
    try {
      await work(tx);
      await tx.query('commit');
    } catch (error) {
      await tx.query('rollback');
      throw error;
    }
  },
  misuses: {
    'methods of its own': (tx) => patch(tx, 'query'),
    release: (tx) => tx.release(),
    'release as broken': (tx) => tx.release(true),
    end: (tx) => loose(tx)['end']?.(),
    connect: (tx) => tx.connect(),
    'the socket': (tx) =>
      (tx as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy(),
    'the connection': (tx) =>
      (tx as unknown as { connection: { query(text: string): void } }).connection.query('commit'),
    'the method of the class': (tx) => loose(pg.Client.prototype)['query']?.call(tx, 'commit'),
    'the method of its constructor': (tx) => loose(tx.constructor.prototype)['query']?.call(tx, 'commit'),
    'the method of another': async (tx) => loose(tx)['query']?.call({}, 'commit'),
    'a named statement': (tx) => tx.query({ name: 'commit', text: 'commit' }),
    'a statement with parameters': (tx) => tx.query('commit', []),
    'a callback': async (tx) =>
      new Promise((resolve, reject) => {
        tx.query('commit', (error) => (error instanceof Error ? reject(error) : resolve('done')));
      }),
    'a query made by hand': (tx) => tx.query(new pg.Query('commit') as never),
    'a cursor': async (tx) => tx.query(new Cursor('commit')).read(1),
    'a stream of rows': (tx) => tx.query(new QueryStream('commit').on('error', () => undefined)),
    'an object that speaks to the connection': (tx) =>
      tx.query({ submit: (connection: { query(text: string): void }) => connection.query('commit') } as never),
  },
};

/** postgres.js, without anything in between. */
export const POSTGRES_JS: EscapeKind<TransactionSql> = {
  name: 'postgres.js',
  open: postgresJsStage,
  run: (tx, text) => tx.unsafe(text),
  insert: (tx, table, line) => tx`insert into ${tx(table)} values (${line})`,
  nested: (tx, work) => tx.savepoint(work),
  misuses: {
    'methods of its own': (tx) => patch(tx, 'unsafe', 'savepoint'),
    'a template': (tx) => tx`commit`,
    'a list of texts': (tx) => tx.unsafe(['select 1; commit'] as never).simple(),
    'a part of a template': (tx) => tx`select 1 ${tx.unsafe('; commit')}`.simple(),
    'a value in a list': (tx) => tx`insert into x ${tx({ a: tx.unsafe('1); commit; select (1') as never })}`.simple(),
    'a prepared transaction': (tx) => loose(tx)['prepare']?.('escape'),
    'the text of a file': (tx) => tx.file('commit.sql'),
    'a cursor': (tx) => tx`commit`.cursor(1, () => undefined),
    'an options text': (tx) => loose(tx)['begin']?.('read only', () => undefined),
  },
};

/** PGlite, without anything in between. */
export const PGLITE: EscapeKind<Transaction> = {
  name: 'PGlite',
  open: async () => {
    const db = await sharedPglite();
    const schema = await freshSchemaOn(db);
    return stageOver(db, schema, async (work) => db.transaction(work));
  },
  run: (tx, text) => tx.exec(text),
  insert: (tx, table, line) => tx.query(`insert into ${table} values ($1)`, [line]),
  nested: (tx, work) =>
    (tx as unknown as { transaction: (work: (tx: Transaction) => Promise<void>) => Promise<void> }).transaction(work),
  misuses: {
    'methods of its own': (tx) => patch(tx, 'query', 'exec'),
    rollback: (tx) => tx.rollback(),
    'a statement with parameters': (tx) => tx.query('commit', []),
    'a template': (tx) => tx.sql`commit`,
    'a list of texts': (tx) => tx.exec(['select 1; commit'] as never),
  },
};
