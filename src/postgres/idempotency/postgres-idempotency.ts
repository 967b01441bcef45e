import type { AtomicIdempotencyStore } from '../../idempotency/idempotency-store.ts';
import { OptionCheck } from '../../kernel/check-options.ts';
import { systemEffects } from '../../system/effects.ts';
import type { Driver } from '../driver/driver.ts';
import { findDriver, poolAdvice, type SqlPool, type TransactionOf } from '../driver/find-driver.ts';
import { ANSWER_TIMEOUT_RULE } from '../driver/time-limit.ts';
import { repeatedRunner } from '../repeated-runner.ts';
import { DEFAULT_SCHEMA, quotedSchema } from '../schema-name.ts';
import { type SqlConnection, sqlRunner } from '../sql-runner.ts';
import { isWrap, withinOf, type Wrap, WRAP_ADVICE } from '../transaction-adapter.ts';
import { commitAct, transactionAct } from './commit.ts';
import { recordSteps } from './record-steps.ts';
import { idempotencyStatements } from './statements.ts';

/** What `postgresIdempotency` takes. */
export interface PostgresIdempotencyOptions<Pool, Tx = TransactionOf<Pool>> {
  /** A pg `Pool`, the `sql` of postgres.js, or a PGlite database. Every step and every commit goes through it. */
  readonly pool: Pool;
  /** Where our tables are. Default `holdfast`. */
  readonly schema?: string | undefined;
  /** What `commit` hands over instead of the client's own transaction: `drizzleTx(…)` or another of `holdfast/orm`, or a function of it. */
  readonly wrap?: Wrap<Pool, TransactionOf<Pool>, Tx> | undefined;
  /** How long the database may take for one answer of a commit, in milliseconds. Default 10,000; of steps: `storeTimeoutMs`. */
  readonly answerTimeoutMs?: number | undefined;
}

/**
 * Idempotency records in PostgreSQL, whose ends can be committed together with the application's own data; run `migrate` once
 * before. A pooler in transaction mode may be in between. Throws `SCHEMA_TOO_OLD` at the first step when it was not migrated.
 */
export function postgresIdempotency<Pool extends SqlPool, Tx = TransactionOf<Pool>>(
  options: PostgresIdempotencyOptions<Pool, Tx>,
): AtomicIdempotencyStore<Tx> {
  const check = new OptionCheck('postgresIdempotency()');
  if (!check.object('options', options, 'pass { pool }')) check.done();
  const { pool, schema = DEFAULT_SCHEMA, wrap, answerTimeoutMs } = options;
  check.known(options, ['pool', 'schema', 'wrap', 'answerTimeoutMs']);
  if (answerTimeoutMs !== undefined) check.number('answerTimeoutMs', answerTimeoutMs, ANSWER_TIMEOUT_RULE);
  if (wrap !== undefined && !isWrap(wrap)) check.refuse('wrap', wrap, WRAP_ADVICE);
  const driver = findDriver(pool, systemEffects, answerTimeoutMs);
  if (driver === undefined) check.refuse('pool', pool, poolAdvice(pool));
  check.done();
  const statements = idempotencyStatements(quotedSchema('postgresIdempotency()', schema));
  // Without one the check has thrown.
  const parts = { driver: driver as Driver<unknown>, statements, within: withinOf(pool, wrap), effects: systemEffects };
  return {
    ...recordSteps(repeatedRunner(sqlRunner(pool as unknown as SqlConnection)), statements, schema),
    commit: commitAct(parts),
    transaction: transactionAct(parts),
  };
}
