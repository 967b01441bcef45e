import { HoldfastError } from '../kernel/error.ts';
import { rowsOf } from './driver/postgres-js-rows.ts';

/**
 * What a statement may be given. Everything travels as text, so that all clients send the same bytes: a placeholder is
 * first cast to `text` or `text[]` and then to what it is, `$1::text::jsonb`, `$2::text::boolean`, `$3::text[]::uuid[]`.
 * Without that, postgres.js asks the server for the type and encodes a second time: JSON text becomes a JSON string,
 * `'true'` becomes false, a time loses its microseconds.
 *
 * Arrays are written as array literals here, not by the client: postgres.js with `fetch_types: false` has no encoder for
 * them. They are for lists of ids and the like; many rows with several columns travel faster as one JSON text
 * (`json_to_recordset($1::text::json)`: 19 ms against 35 ms with one array per column, for 1,000 rows of 300 bytes).
 */
export type SqlParam = string | number | bigint | boolean | null | readonly (string | null)[];

/** The clients whose objects are understood. A pool is told apart from a connection: two of its statements may meet two connections. */
type SqlClientKind =
  | 'pg'
  | 'pg-pool'
  | 'postgres.js'
  | 'drizzle'
  | 'kysely'
  | 'knex'
  | 'typeorm'
  | 'prisma'
  | 'mikro-orm'
  | 'pglite';

/** Runs statements in whatever transaction or connection the caller has. */
export interface SqlRunner {
  readonly kind: SqlClientKind;
  /** As it was when the runner was made. `'unknown'` where the client keeps no account of it. */
  readonly inTransaction: boolean | 'unknown';
  /**
   * Runs one statement with `$1`, `$2`, … and answers its rows. A value comes back as the driver gives it, and drivers
   * differ in all but `text`, `int4` and null: select other types as `::text`. Columns are named in lower case with
   * underscores; a client that renames them (camel case) is undone. Errors are the driver's own, with its SQLSTATE in
   * `code`.
   */
  query(text: string, params?: readonly SqlParam[]): Promise<readonly Record<string, unknown>[]>;
}

interface RowsAnswer {
  readonly rows: readonly unknown[];
}

/** pg: a `Client`, or a `PoolClient` from `pool.connect()`, between `begin` and `commit`. */
interface PgConnection {
  query(text: string, values: unknown[]): Promise<RowsAnswer>;
  getTransactionStatus?(): string | null;
  connect(): unknown;
  escapeIdentifier(text: string): string;
}

/** pg: a `Pool`. Never a transaction. */
interface PgPool {
  query(text: string, values: unknown[]): Promise<RowsAnswer>;
  readonly totalCount: number;
}

/** postgres.js: the `sql` that `begin` or `savepoint` hands to its function, or one from `sql.reserve()`. */
type PostgresJsTransaction = PostgresJsSql & ({ savepoint: unknown } | { release(): void });

/** postgres.js: any `sql`. */
interface PostgresJsSql {
  unsafe(text: string, params: (string | null)[]): PromiseLike<readonly unknown[]>;
}

/** Drizzle: the `tx` that `db.transaction` hands to its function, over pg, postgres.js, PGlite or another PostgreSQL driver. */
interface DrizzleTransaction extends DrizzleDatabase {
  rollback(): never;
}

/** Drizzle: any PostgreSQL `db` or `tx`. */
interface DrizzleDatabase {
  execute(query: unknown): PromiseLike<unknown>;
  transaction: unknown;
}

/** Kysely: the `trx` of `db.transaction().execute(…)` or of `db.startTransaction().execute()`. */
interface KyselyTransaction extends KyselyDatabase {
  readonly isTransaction: true;
}

/** Kysely: any `db` or `trx` with a PostgreSQL dialect. */
interface KyselyDatabase {
  readonly isTransaction: boolean;
  withoutPlugins(): KyselyDatabase;
  executeQuery(query: unknown): Promise<RowsAnswer>;
}

/** Knex: the `trx` of `knex.transaction`, also of `await knex.transaction()` and of a savepoint. */
interface KnexTransaction extends KnexDatabase {
  isCompleted(): boolean;
}

/** Knex: any `knex` or `trx` with the client `pg`. */
interface KnexDatabase {
  readonly raw: unknown;
  readonly client: KnexClient;
}

interface KnexClient {
  readonly dialect: string;
  /** Inside a transaction always the same one, which releasing does not give back. */
  acquireConnection(): Promise<unknown>;
  releaseConnection(connection: unknown): unknown;
}

/** TypeORM: a query runner after `startTransaction`, or the manager that `dataSource.transaction` hands to its function. */
type TypeOrmTransaction = TypeOrmRunner | TypeOrmManager;

interface TypeOrmRunner {
  readonly isTransactionActive: boolean;
  readonly isReleased: boolean;
  readonly dataSource: TypeOrmSource;
  query(text: string, params: (string | null)[], isStructured: true): Promise<{ readonly records: readonly unknown[] }>;
  release(): Promise<void>;
}

interface TypeOrmManager {
  readonly dataSource: TypeOrmSource;
  readonly queryRunner?: TypeOrmRunner | undefined;
}

/** TypeORM: a data source of the type `postgres`. */
interface TypeOrmSource {
  readonly options: { readonly type: string };
  createQueryRunner(): TypeOrmRunner;
}

/** Prisma: the `tx` that `prisma.$transaction` hands to its function. */
interface PrismaTransaction extends PrismaDatabase {
  readonly $connect?: never;
}

/** Prisma: a client, or the `tx` of one, with the provider `postgresql`. */
interface PrismaDatabase {
  $queryRawUnsafe(text: string, ...values: unknown[]): PromiseLike<unknown>;
  $executeRawUnsafe: unknown;
}

/** MikroORM: an entity manager on PostgreSQL, inside `em.transactional` or after `em.begin`. */
interface MikroOrmManager {
  isInTransaction(): boolean;
  getTransactionContext(): unknown;
  getKysely(): unknown;
}

/** PGlite: the `tx` that `db.transaction` hands to its function. */
interface PgliteTransaction extends PgliteDatabase {
  rollback(): Promise<void>;
}

/** PGlite: a database or a `tx`. */
interface PgliteDatabase {
  query(text: string, params: unknown[]): Promise<RowsAnswer>;
  exec(text: string): Promise<unknown>;
  readonly closed: boolean;
}

/** A transaction of one of the known clients, as it is. */
export type SqlTransaction =
  | PgConnection
  | PostgresJsTransaction
  | DrizzleTransaction
  | KyselyTransaction
  | KnexTransaction
  | TypeOrmTransaction
  | PrismaTransaction
  | MikroOrmManager
  | PgliteTransaction;

/** A transaction, or something that runs each statement on its own. */
export type SqlConnection =
  | SqlTransaction
  | PgPool
  | PostgresJsSql
  | DrizzleDatabase
  | KyselyDatabase
  | KnexDatabase
  | TypeOrmSource
  | PrismaDatabase
  | PgliteDatabase;

/** Finds out whose connection this is. Throws `TRANSACTION_UNKNOWN` if it is none of those it knows. */
export function sqlRunner(connection: SqlConnection): SqlRunner {
  const runner = recognise(connection);
  if (runner === undefined) throw new HoldfastError('TRANSACTION_UNKNOWN', { found: nameOf(connection) });
  return runner;
}

/**
 * As `sqlRunner`, and throws `TRANSACTION_NOT_OPEN` if it is known that no transaction is open on it. Not every client
 * can tell: a postgres.js transaction that has ended and a reserved connection without `begin` pass.
 */
export function transactionRunner(tx: SqlTransaction): SqlRunner {
  const runner = sqlRunner(tx);
  if (runner.inTransaction === false) throw new HoldfastError('TRANSACTION_NOT_OPEN', { client: runner.kind });
  return runner;
}

/** Whose object this is; nothing if it is none of those that are known. */
export function clientKindOf(value: unknown): SqlRunner['kind'] | undefined {
  return recognise(value)?.kind;
}

type Run = (text: string, params: (string | null)[]) => Promise<readonly unknown[]>;
/** Any property may be there, none is known to be. */
type Loose = { readonly [K in string]?: unknown };

function recognise(value: unknown): SqlRunner | undefined {
  if (typeof value === 'function') return postgresJs(value as unknown as Loose) ?? knex(value as unknown as Loose);
  if (typeof value !== 'object' || value === null) return undefined;
  return (
    kysely(value) ?? drizzle(value) ?? prisma(value) ?? typeorm(value) ?? mikroOrm(value) ?? pglite(value) ?? pg(value)
  );
}

function postgresJs(value: Loose): SqlRunner | undefined {
  if (!hasMethods(value, 'unsafe')) return undefined;
  const sql = value as unknown as PostgresJsSql;
  // A reserved connection has release and no account of its begin; of the others only a transaction has savepoint.
  const inTransaction = hasMethods(value, 'savepoint') || (hasMethods(value, 'release') && 'unknown');
  return makeRunner('postgres.js', inTransaction, async (text, params) => rowsOf(await sql.unsafe(text, params)));
}

function kysely(value: Loose): SqlRunner | undefined {
  if (!hasMethods(value, 'executeQuery', 'withoutPlugins')) return undefined;
  const db = value as unknown as KyselyDatabase;
  return makeRunner('kysely', db.isTransaction, async (text, parameters) => {
    const query = { kind: 'RawNode', sqlFragments: [text], parameters: [] };
    // Plugins rename columns, or parse every text that looks like JSON.
    const plain = db.withoutPlugins();
    return (await plain.executeQuery({ sql: text, parameters, query, queryId: { queryId: 'holdfast' } })).rows;
  });
}

function drizzle(value: Loose): SqlRunner | undefined {
  if (!hasMethods(value, 'execute', 'transaction') || drizzleKind(value['dialect']) !== 'PgDialect') return undefined;
  const db = value as unknown as DrizzleDatabase;
  // The client below knows more: a tx whose function has returned still looks like one.
  const below = recognise((value['session'] as Loose | undefined)?.['client'])?.inTransaction ?? 'unknown';
  const inTransaction = below === 'unknown' ? hasMethods(value, 'rollback') : below;
  return makeRunner('drizzle', inTransaction, async (sql, params) => {
    // Drizzle asks a query for its SQL object, and that for text and parameters.
    const statement = { getSQL: (): unknown => statement, toQuery: (): unknown => ({ sql, params }) };
    try {
      const answer = await db.execute(statement);
      return Array.isArray(answer) ? rowsOf(answer as unknown[]) : (answer as RowsAnswer).rows;
    } catch (error) {
      // Drizzle's wrapper has no SQLSTATE and puts every parameter into its message.
      throw error instanceof Error && 'params' in error && error.cause instanceof Error ? error.cause : error;
    }
  });
}

/**
 * Statements go to the connection below: Knex numbers placeholders by their places, so that `$1` used twice would be two values, and
 * puts every value into the message of an error.
 */
function knex(value: Loose): SqlRunner | undefined {
  const client = value['client'] as Partial<KnexClient> | null | undefined;
  if (!hasMethods(value, 'raw') || client?.dialect !== 'postgresql') return undefined;
  const db = value as unknown as KnexDatabase;
  const isOpen = (): boolean => !(value as unknown as KnexTransaction).isCompleted();
  const isTransaction = hasMethods(value, 'isCompleted');
  return makeRunner('knex', isTransaction && isOpen(), async (text, params) => {
    // Knex itself refuses a trx that has ended; its connection may serve somebody else by now.
    if (isTransaction && !isOpen()) throw new HoldfastError('TRANSACTION_NOT_OPEN', { client: 'knex' });
    const connection = await db.client.acquireConnection();
    try {
      return (await (connection as PgConnection).query(text, params)).rows;
    } finally {
      db.client.releaseConnection(connection);
    }
  });
}

function typeorm(value: Loose): SqlRunner | undefined {
  const source = (value['dataSource'] ?? value) as Partial<TypeOrmSource>;
  if (!hasMethods(source, 'createQueryRunner') || source.options?.type !== 'postgres') return undefined;
  const given = (value['queryRunner'] ?? value) as TypeOrmRunner;
  const isRunner = typeof given.isTransactionActive === 'boolean';
  return makeRunner('typeorm', isRunner && given.isTransactionActive && !given.isReleased, async (text, params) => {
    const runner = isRunner ? given : (source as TypeOrmSource).createQueryRunner();
    try {
      // Asked plainly, it answers an update with its rows and their number.
      return (await runner.query(text, params, true)).records;
    } catch (error) {
      // The wrapper carries every parameter.
      throw error instanceof Error && 'driverError' in error ? error.driverError : error;
    } finally {
      if (!isRunner) await runner.release();
    }
  });
}

function prisma(value: Loose): SqlRunner | undefined {
  if (!hasMethods(value, '$queryRawUnsafe', '$executeRawUnsafe')) return undefined;
  if ((value['_activeProvider'] ?? 'postgresql') !== 'postgresql') return undefined;
  const db = value as unknown as PrismaDatabase;
  return makeRunner('prisma', !hasMethods(value, '$connect'), async (text, params) => {
    try {
      return (await db.$queryRawUnsafe(text, ...params)) as readonly unknown[];
    } catch (error) {
      throw prismaCause(error);
    }
  });
}

/** Prisma has codes of its own, and what the server said lies below them as a plain object. */
function prismaCause(error: unknown): unknown {
  const { code, meta } = error as { code?: unknown; meta?: { driverAdapterError?: { cause?: Loose } } };
  // It has ended, or has taken longer than its `timeout`, which is five seconds unless it is told otherwise.
  if (code === 'P2028') return new HoldfastError('TRANSACTION_NOT_OPEN', { client: 'prisma' }, { cause: error });
  const { originalCode, originalMessage, detail } = meta?.driverAdapterError?.cause ?? {};
  if (typeof originalCode !== 'string') return error;
  return Object.assign(new Error(String(originalMessage), { cause: error }), { code: originalCode, detail });
}

/** Statements go through the Kysely below: MikroORM itself writes every value into the text. */
function mikroOrm(value: Loose): SqlRunner | undefined {
  if (!hasMethods(value, 'getKysely', 'isInTransaction', 'getTransactionContext')) return undefined;
  const em = value as unknown as MikroOrmManager;
  const isTransaction = em.isInTransaction();
  return makeRunner('mikro-orm', isTransaction, async (text, params) => {
    // Its context is gone when it has ended, and its next statement would run outside.
    if (isTransaction && !em.isInTransaction())
      throw new HoldfastError('TRANSACTION_NOT_OPEN', { client: 'mikro-orm' });
    const below = kysely(em.getKysely() as Loose);
    if (below === undefined) throw new HoldfastError('TRANSACTION_UNKNOWN', { found: nameOf(value) });
    return below.query(text, params);
  });
}

function pglite(value: Loose): SqlRunner | undefined {
  if (!hasMethods(value, 'query', 'exec')) return undefined;
  const db = value as unknown as PgliteDatabase;
  const inTransaction = hasMethods(value, 'rollback') && !db.closed;
  return makeRunner('pglite', inTransaction, async (text, params) => (await db.query(text, params)).rows);
}

function pg(value: Loose): SqlRunner | undefined {
  if (!hasMethods(value, 'query', 'connect')) return undefined;
  const client = value as unknown as PgConnection;
  const run: Run = async (text, params) => (await client.query(text, params)).rows;
  if (typeof value['totalCount'] === 'number') return makeRunner('pg-pool', false, run);
  // The names tell it from a MySQL connection. Older versions of pg do not tell the status, its native client has no escapeIdentifier.
  if (!hasMethods(value, 'escapeIdentifier') && !hasMethods(value, 'getTransactionStatus')) return undefined;
  const status = client.getTransactionStatus?.();
  return makeRunner('pg', status === undefined ? 'unknown' : status === 'T' || status === 'E', run);
}

function makeRunner(kind: SqlClientKind, inTransaction: boolean | 'unknown', run: Run): SqlRunner {
  const query: SqlRunner['query'] = async (text, params = []) => plainNames(await run(text, params.map(encodeParam)));
  return { kind, inTransaction, query };
}

/** A parameter as the text that all clients send. */
export function encodeParam(param: SqlParam): string | null {
  if (param === null) return null;
  if (typeof param !== 'object') return String(param);
  return `{${param.map((item) => (item === null ? 'NULL' : `"${item.replace(/["\\]/g, '\\$&')}"`)).join(',')}}`;
}

/** Undoes a client's renaming of columns to camel, Pascal or kebab case. */
function plainNames(rows: readonly unknown[]): readonly Record<string, unknown>[] {
  const given = rows as readonly Record<string, unknown>[];
  const names = Object.keys(given[0] ?? {});
  if (!names.some((name) => /[-A-Z]/.test(name))) return given;
  return given.map((row) => Object.fromEntries(names.map((name) => [plainName(name), row[name]])));
}

function plainName(name: string): string {
  return name.replaceAll('-', '_').replace(/[A-Z]/g, (letter, at) => (at === 0 ? '' : '_') + letter.toLowerCase());
}

function hasMethods(value: object, ...names: readonly string[]): boolean {
  return names.every((name) => typeof (value as Loose)[name] === 'function');
}

function drizzleKind(value: unknown): unknown {
  const made = (value as { constructor?: unknown } | null | undefined)?.constructor;
  return (made as Record<symbol, unknown> | undefined)?.[Symbol.for('drizzle:entityKind')];
}

/** What it is, never what is in it. */
function nameOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return value === null ? 'null' : typeof value;
  if (hasMethods(value, 'then')) return 'Promise';
  const made: unknown = (value as { constructor?: unknown }).constructor;
  return typeof made === 'function' && made.name !== '' ? made.name : 'object';
}
