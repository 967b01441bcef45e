import type { By, Operator } from '../operator/operator.ts';
import { postgresOperator } from '../postgres/operator/postgres-operator.ts';
import type { Invocation } from './command.ts';

/** The operator functions on the database that was named. */
export async function openOperator({ database, version }: Pick<Invocation, 'database' | 'version'>): Promise<Operator> {
  const { driver, schema, target } = await database();
  return postgresOperator({ pool: driver.pool, schema, answerTimeoutMs: target.statementMs, version });
}

/** Who does it, for the audit. */
export function byWhom({ io, options }: Pick<Invocation, 'io' | 'options'>): By {
  return { actor: options.text('actor') ?? io.user, reason: options.text('reason') };
}
