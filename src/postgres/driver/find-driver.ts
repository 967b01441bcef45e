import type { Effects } from '../../kernel/effects.ts';
import { clientKindOf } from '../sql-runner.ts';
import type { Driver } from './driver.ts';
import { pgDriver, type PgPoolInside } from './pg-driver.ts';
import { pgliteDriver, type PgliteInside } from './pglite-driver.ts';
import { postgresJsDriver, type PostgresJsInside } from './postgres-js-driver.ts';
import { readCommitted } from './read-committed.ts';

/** pg: a `Pool`. */
interface PgPool {
  readonly totalCount: number;
  readonly options: object;
  connect(): Promise<{ release(): void }>;
}

/** postgres.js: the `sql` that `postgres()` makes. */
interface PostgresJs {
  unsafe: unknown;
  begin: unknown;
  listen: unknown;
}

/** PGlite: a database. */
interface PgliteDatabase {
  readonly closed: boolean;
  transaction: unknown;
  listen: unknown;
}

/** What a relay can work with: a pg `Pool`, the `sql` of postgres.js, or a PGlite database. */
export type SqlPool = PgPool | PostgresJs | PgliteDatabase;

/** The transaction of a pool, in its own types: pg's `PoolClient`, postgres.js' `TransactionSql`, PGlite's `Transaction`. */
export type TransactionOf<Pool> = Pool extends { connect: { (): Promise<infer Client>; (callback: never): void } }
  ? Client
  : Pool extends { begin: { (work: (tx: infer Tx) => never): unknown; (options: string, work: never): unknown } }
    ? Tx
    : Pool extends { transaction(work: (tx: infer Tx) => never): unknown }
      ? Tx
      : never;

/** The driver for a pool; nothing if it is none that is known. `answerMs` is how long the server may take for one answer. */
export function findDriver(pool: unknown, effects: Effects, answerMs?: number): Driver<unknown> | undefined {
  const driver = driverOf(pool, effects, answerMs);
  return driver && readCommitted(driver);
}

function driverOf(pool: unknown, effects: Effects, answerMs: number | undefined): Driver<unknown> | undefined {
  if (hasMethods(pool, 'unsafe', 'begin', 'listen'))
    return postgresJsDriver(pool as unknown as PostgresJsInside, effects, answerMs);
  if (hasMethods(pool, 'query', 'exec', 'transaction', 'listen'))
    return pgliteDriver(pool as unknown as PgliteInside, effects);
  if (hasMethods(pool, 'query', 'connect', 'Client'))
    return pgDriver(pool as unknown as PgPoolInside, effects, answerMs);
  return undefined;
}

/** What to pass instead of something that is no pool. A query builder is told where the pool below it is. */
export function poolAdvice(pool: unknown): string {
  const kind = clientKindOf(pool);
  const more = kind === undefined ? undefined : BELOW[kind];
  return `pass a pg Pool, the sql of postgres.js, or a PGlite database${more === undefined ? '' : `: ${more}`}`;
}

const BELOW: Readonly<Record<string, string>> = {
  pg: 'one client is none',
  drizzle: 'that is db.$client',
  kysely: 'that is the pool its dialect was given',
  // Its own pool has no connections for listening, and none that outlive a transaction.
  knex: 'make one beside Knex, whose transactions are taken for sending',
  typeorm: 'that is dataSource.driver.master',
  prisma: 'make one and share it with Prisma, new PrismaPg(pool)',
};

function hasMethods(value: unknown, ...names: readonly string[]): value is object {
  if (value === null || (typeof value !== 'object' && typeof value !== 'function')) return false;
  return names.every((name) => typeof (value as Record<string, unknown>)[name] === 'function');
}
