import { OptionCheck } from '../kernel/check-options.ts';
import type { OutboxStore } from '../outbox/new-message.ts';
import { append, appendStatements } from './append.ts';
import { DEFAULT_SCHEMA, quotedSchema } from './schema-name.ts';
import { type SqlTransaction, transactionRunner } from './sql-runner.ts';

/** What `postgres` takes. Every field may be left out. */
export interface PostgresOptions {
  /** Where our tables are. Default `holdfast`. */
  readonly schema?: string | undefined;
  /** How long an explicit idempotency key is remembered, in milliseconds. Default: seven days. */
  readonly dedupMs?: number | undefined;
}

const WEEK_MS = 7 * 86_400_000;

/** The store on PostgreSQL. It writes through the caller's own transaction; run `migrate` once before. */
export function postgres(options: PostgresOptions = {}): OutboxStore<SqlTransaction> {
  const check = new OptionCheck('postgres()');
  const { schema = DEFAULT_SCHEMA, dedupMs = WEEK_MS } = options;
  check.known(options, ['schema', 'dedupMs']);
  check.number('dedupMs', dedupMs, { min: 1_000, integer: true, write: 'write whole milliseconds from 1000' });
  check.done();
  const statements = appendStatements(quotedSchema('postgres()', schema), `${schema}_ready`, dedupMs);
  return { append: async (tx, messages) => append(transactionRunner(tx), statements, messages) };
}
