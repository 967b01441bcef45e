import { OptionCheck } from '../kernel/check-options.ts';
import { HoldfastError } from '../kernel/error.ts';
import type { RelayStore } from '../relay/relay-store.ts';
import { systemEffects } from '../system/effects.ts';
import { append, appendStatements } from './append.ts';
import { named } from './check-version.ts';
import type { Driver } from './driver/driver.ts';
import { findDriver, poolAdvice, type SqlPool, type TransactionOf } from './driver/find-driver.ts';
import { ANSWER_TIMEOUT_RULE, withinLimit } from './driver/time-limit.ts';
import { openSession } from './relay/session.ts';
import { wakeChannel } from './relay/wake-statement.ts';
import { DEFAULT_SCHEMA, quotedSchema } from './schema-name.ts';
import { type SqlRunner, type SqlTransaction, transactionRunner } from './sql-runner.ts';
import { isWrap, withinOf, type Wrap, WRAP_ADVICE } from './transaction-adapter.ts';

/** What `postgres` takes for sending alone. Every field may be left out. */
export interface PostgresOptions {
  /** Where our tables are. Default `holdfast`. */
  readonly schema?: string | undefined;
  /** How long an explicit idempotency key is remembered, in milliseconds. Default: seven days. */
  readonly dedupMs?: number | undefined;
  /**
   * How long the database may take for one answer, in milliseconds, before that is `DATABASE_TIMEOUT`: a connection of ours is then
   * given up, a transaction of the caller's is the caller's to roll back. Default 10,000.
   */
  readonly answerTimeoutMs?: number | undefined;
}

/** What `postgres` takes for sending and running handlers. */
export interface PostgresRelayOptions<Pool, Tx = TransactionOf<Pool>> extends PostgresOptions {
  /** A pg `Pool`, the `sql` of postgres.js, or a PGlite database. Handlers commit through it; the relay's own connections are extra. */
  readonly pool: Pool;
  /** What handlers get instead of the client's own transaction: `drizzleTx(…)` or another of `holdfast/orm`, or a function of it. */
  readonly wrap?: Wrap<Pool, TransactionOf<Pool>, Tx> | undefined;
  /** A pool with direct connections, where `pool` goes through a pooler in transaction mode: LISTEN does not work through one. */
  readonly listen?: SqlPool | undefined;
}

/**
 * The store on PostgreSQL. Handlers get the transaction of its pool (`Tx`); a message may be sent in one of any known client, so
 * that a service with Drizzle or Prisma sends in theirs.
 */
export type PostgresStore<Tx> = RelayStore<Tx, Tx | SqlTransaction>;

/** How long an explicit idempotency key is remembered unless the store is told otherwise: seven days. */
export const DEFAULT_DEDUP_MS: number = 7 * 86_400_000;

/**
 * The store on PostgreSQL. It sends through the caller's own transaction, and with a `pool` it runs handlers; run `migrate`
 * once before. Without a pool, starting handlers throws `POOL_MISSING`.
 */
export function postgres<Pool extends SqlPool, Tx = TransactionOf<Pool>>(
  options: PostgresRelayOptions<Pool, Tx>,
): PostgresStore<Tx>;
export function postgres(options?: PostgresOptions): PostgresStore<SqlTransaction>;
export function postgres<Tx>(options: Partial<PostgresRelayOptions<SqlPool, Tx>> = {}): PostgresStore<Tx> {
  const check = new OptionCheck('postgres()');
  const { schema = DEFAULT_SCHEMA, dedupMs = DEFAULT_DEDUP_MS, answerTimeoutMs, pool, listen, wrap } = options;
  check.known(options, ['schema', 'dedupMs', 'answerTimeoutMs', 'pool', 'wrap', 'listen']);
  if (answerTimeoutMs !== undefined) check.number('answerTimeoutMs', answerTimeoutMs, ANSWER_TIMEOUT_RULE);
  check.number('dedupMs', dedupMs, { min: 1_000, integer: true, write: 'write whole milliseconds from 1000' });
  if (wrap !== undefined && !isWrap(wrap)) check.refuse('wrap', wrap, WRAP_ADVICE);
  const driver = checkedDriver(check, 'pool', pool, answerTimeoutMs);
  const listenDriver = checkedDriver(check, 'listen', listen, answerTimeoutMs) ?? driver;
  check.done();
  const quoted = quotedSchema('postgres()', schema);
  const channel = wakeChannel(schema);
  const statements = appendStatements(quoted, channel, dedupMs);
  const within = pool === undefined ? undefined : withinOf<SqlPool, Tx>(pool, wrap);
  const writing = async <T>(tx: unknown, write: (sql: SqlRunner) => Promise<T>): Promise<T> => {
    const sql = transactionRunner(tx as SqlTransaction);
    try {
      return await withinLimit(systemEffects, write(sql), () => undefined, answerTimeoutMs);
    } catch (error) {
      throw named(error, quoted);
    }
  };
  return {
    append: async (tx, messages) => writing(tx, (sql) => append(sql, statements, messages)),
    openRelay: async () => {
      if (driver === undefined || listenDriver === undefined || within === undefined)
        throw new HoldfastError('POOL_MISSING', {});
      return openSession<Tx>({ schema: quoted, channel, driver, listenDriver, within, effects: systemEffects });
    },
  };
}

function checkedDriver(
  check: OptionCheck,
  option: string,
  pool: unknown,
  answerMs: number | undefined,
): Driver<unknown> | undefined {
  if (pool === undefined) return undefined;
  const driver = findDriver(pool, systemEffects, answerMs);
  if (driver === undefined) {
    check.refuse(option, pool, poolAdvice(pool));
  }
  return driver;
}
