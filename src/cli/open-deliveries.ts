import { type PostgresDelivery, postgresDelivery } from '../postgres/delivery/postgres-delivery.ts';
import type { Invocation } from './command.ts';
import type { Database } from './database.ts';
import type { Io } from './io.ts';

/** Deliveries of the database that was named. Secrets can be opened where HOLDFAST_SECRET is set. */
export async function openDeliveries({ io, database }: Pick<Invocation, 'io' | 'database'>): Promise<PostgresDelivery> {
  return databaseDeliveries(await database(), io);
}

/** The same on a database that is open. */
export function databaseDeliveries(
  { driver, schema, target }: Database,
  { env, effects }: Pick<Io, 'env' | 'effects'>,
): PostgresDelivery {
  const secret = env['HOLDFAST_SECRET'] || undefined;
  return postgresDelivery({ pool: driver.pool, schema, secret, effects, answerTimeoutMs: target.statementMs });
}
