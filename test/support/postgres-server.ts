import { Client } from 'pg';
import { hasUser } from './find-server.ts';
import type { Command, PrivateServer } from './private-server.ts';

/** The URL of a PostgreSQL on this machine that trusts local connections. */
export function localPostgres(port: number): string {
  return `postgres://postgres@127.0.0.1:${port}/postgres`;
}

/** Resolves if the server answers a query. */
export async function probePostgres(url: string): Promise<void> {
  await query(url, 'select 1');
}

/** Makes the schema and answers a URL whose connections see it first. */
export async function prepareSchema(url: string, namespace: string): Promise<string> {
  await query(url, `create schema ${namespace}`);
  const scoped = new URL(url);
  scoped.searchParams.set('options', `-c search_path=${namespace}`);
  return scoped.href;
}

export async function dropSchema(url: string, namespace: string): Promise<void> {
  await query(url, `drop schema if exists ${namespace} cascade`);
}

/** The programs of a PostgreSQL. */
export interface PostgresPrograms {
  readonly bin: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Put before each of them. Default: what makes them run as an unprivileged user. */
  readonly prefix?: [] | Command;
}

/**
 * How to run a PostgreSQL of our own from these programs, with its data in `folder`. It keeps its promises as in production
 * (fsync stays on); only initdb need not wait for the disk, because the data folder ends with the run.
 */
export function planPostgres(
  { bin, env = {}, prefix = asUnprivileged().prefix }: PostgresPrograms,
  folder: string,
  port: number,
): Pick<PrivateServer, 'before' | 'server' | 'stopSignal' | 'env'> {
  const data = `${folder}/data`;
  const { user } = asUnprivileged();
  const owner = user === undefined ? [] : ([['chown', user, folder]] satisfies Command[]);
  const initdb = ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'];
  const settings = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    wal_level: 'logical',
    max_connections: '200',
    max_prepared_transactions: '10',
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  return {
    before: [...owner, [...prefix, `${bin}/initdb`, ...initdb]],
    server: [...prefix, `${bin}/postgres`, '-D', data, '-p', String(port), ...flags],
    env,
    // "Fast": ends sessions and writes a checkpoint. SIGTERM would wait for clients to leave.
    stopSignal: 'SIGINT',
  };
}

/** PostgreSQL and PgBouncer refuse to run as root: then they run as the usual user, or as nobody. */
export function asUnprivileged(): { readonly user?: string; readonly prefix: [] | Command } {
  if (process.getuid?.() !== 0) return { prefix: [] };
  const user = hasUser('postgres') ? 'postgres' : 'nobody';
  return { user, prefix: ['setpriv', `--reuid=${user}`, `--regid=${user}`, '--clear-groups'] };
}

async function query(url: string, text: string): Promise<void> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 2000 });
  // A server that is still starting may cut the connection after it was made.
  client.on('error', () => {});
  await client.connect();
  try {
    await client.query(text);
  } finally {
    await client.end();
  }
}
