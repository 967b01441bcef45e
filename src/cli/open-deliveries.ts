import { type PostgresDelivery, postgresDelivery } from '../postgres/delivery/postgres-delivery.ts';
import { type RemoteDeliveries, remoteDeliveries } from '../server/remote-deliveries.ts';
import type { Invocation } from './command.ts';
import type { Database } from './database.ts';
import type { Io } from './io.ts';
import { serverTarget } from './open-operator.ts';

/** Endpoints and destinations of the server or the database that was named. Secrets can be opened where HOLDFAST_SECRET is set. */
export async function openDeliveries({
  io,
  options,
  database,
}: Pick<Invocation, 'io' | 'options' | 'database'>): Promise<RemoteDeliveries> {
  const server = serverTarget(options, io);
  return server === undefined ? databaseDeliveries(await database(), io) : remoteDeliveries(server);
}

/** Deliveries of a database that is open. */
export function databaseDeliveries(
  { driver, schema, target }: Database,
  { env, effects }: Pick<Io, 'env' | 'effects'>,
): PostgresDelivery {
  const secret = env['HOLDFAST_SECRET'] || undefined;
  return postgresDelivery({ pool: driver.pool, schema, secret, effects, answerTimeoutMs: target.statementMs });
}
