import type { EndedSessions } from '../operator/ended-sessions.ts';
import type { By, Operator } from '../operator/operator.ts';
import { postgresSessions } from '../postgres/operator/ended-sessions.ts';
import { postgresOperator } from '../postgres/operator/postgres-operator.ts';
import type { RemoteOptions } from '../server/remote-caller.ts';
import { remoteOperator } from '../server/remote-operator.ts';
import { usageError } from './cli-error.ts';
import type { Invocation } from './command.ts';
import type { Database } from './database.ts';
import type { Io } from './io.ts';
import type { OptionValues } from './option-values.ts';
import { sealingOf } from './sealing-keys.ts';

/** The operator functions on the server or the database that was named. */
export async function openOperator({
  io,
  options,
  database,
  mongodb,
  version,
}: Pick<Invocation, 'database' | 'io' | 'mongodb' | 'options' | 'version'>): Promise<Operator> {
  const server = serverTarget(options, io);
  if (server !== undefined) return remoteOperator(server);
  return (await mongodb())?.operator ?? databaseOperator(await database(), io, version);
}

/** The same on a database that is open. */
export function databaseOperator(
  { driver, schema, target }: Database,
  io: Pick<Io, 'env'>,
  version?: string,
): Operator {
  const sealing = sealingOf(io);
  return postgresOperator({ pool: driver.pool, schema, answerTimeoutMs: target.statementMs, version, sealing });
}

/** Where a database notes the logouts of people. */
export function databaseSessions({ driver, schema }: Database): EndedSessions {
  return postgresSessions({ pool: driver.pool, schema });
}

/** How the server is called that is meant; none where a database is. */
export function serverTarget(options: OptionValues, io: Pick<Io, 'env'>): RemoteOptions | undefined {
  const url = serverUrl(options, io);
  if (url === undefined) return undefined;
  if (!/^https?:$/.test(URL.canParse(url) ? new URL(url).protocol : '')) {
    throw usageError(
      'the server is named by an address such as http://localhost:4747/; see --server and HOLDFAST_SERVER',
    );
  }
  return { url, token: io.env['HOLDFAST_TOKEN'] || undefined };
}

/** The server that is meant, `--server` or HOLDFAST_SERVER; none where a database was named with `--url`. */
function serverUrl(options: OptionValues, { env }: Pick<Io, 'env'>): string | undefined {
  const given = options.text('server');
  if (options.text('url') === undefined) return given ?? (env['HOLDFAST_SERVER'] || undefined);
  if (given !== undefined) throw usageError('--url names a database and --server a server; write one of them');
  return undefined;
}

/** Who does it, for the audit. */
export function byWhom({ io, options }: Pick<Invocation, 'io' | 'options'>): By {
  const actor = options.text('actor');
  if (actor !== undefined && serverUrl(options, io) !== undefined) {
    throw usageError('a server writes the name of the token into the audit; leave --actor out');
  }
  return { actor: actor ?? io.user, reason: options.text('reason') };
}
