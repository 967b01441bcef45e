import type { SqlConnection } from '../postgres/sql-runner.ts';
import type { DatabaseTarget } from './database-target.ts';
import { CliError } from './cli-error.ts';
import { importPackage } from './import-package.ts';

/** A connection that is ours alone until it is given back. */
export interface ReservedConnection {
  readonly connection: SqlConnection;
  /** What the server, or whoever answers in its place, says its process is; unknown with postgres.js. */
  readonly processId: number | undefined;
  release(): Promise<void>;
}

/** An open database, through whichever client is installed. */
export interface Driver {
  readonly name: 'pg' | 'postgres.js';
  /** Many connections; for whoever takes a pool. */
  readonly pool: SqlConnection;
  reserve(): Promise<ReservedConnection>;
  /** Calls back at each notification on the channel. Resolves when it listens. */
  listen(channel: string, heard: () => void): Promise<void>;
  close(): Promise<void>;
}

// At most: a server that delivers needs them, other commands open one or two.
const CONNECTIONS = 10;
const NAME = 'holdfast-cli';

/** Opens the database with pg, or with postgres.js where only that is installed. Nothing is sent yet. */
export async function openDriver(target: DatabaseTarget, cwd: string): Promise<Driver> {
  const pg = (await importPackage('pg', cwd)) as PgModule | undefined;
  if (pg !== undefined) return pgDriver(pg, target);
  const postgres = (await importPackage('postgres', cwd)) as PostgresJsModule | undefined;
  if (postgres !== undefined) return postgresJsDriver(postgres, target);
  throw new CliError('no PostgreSQL client is installed here; run npm install pg');
}

interface PgClient {
  readonly processID?: number | null;
  query(text: string): Promise<unknown>;
  on(event: string, heard: (value: never) => void): unknown;
  release(destroy?: boolean): void;
}

interface PgPool {
  connect(): Promise<PgClient>;
  end(): Promise<void>;
  on(event: 'error', heard: () => void): unknown;
}

interface PgModule {
  readonly Pool?: new (options: object) => PgPool;
  readonly default?: { readonly Pool: new (options: object) => PgPool };
}

function pgDriver(module: PgModule, target: DatabaseTarget): Driver {
  const Pool = module.Pool ?? module.default?.Pool;
  if (Pool === undefined) throw new CliError('the pg that is installed has no Pool; run npm install pg@8');
  const { host, port, user, password, database, url } = target;
  const pool = new Pool({
    ...(url === undefined ? { host, port, user, password, database } : { connectionString: url }),
    max: CONNECTIONS,
    connectionTimeoutMillis: target.connectMs,
    application_name: NAME,
    keepAlive: true,
  });
  // Whoever uses a connection that breaks gets the error from its statement; without a listener it would end the process.
  pool.on('error', () => undefined);
  const take = async (): Promise<PgClient> => {
    const client = await pool.connect();
    client.on('error', () => undefined);
    return client;
  };
  const listening: PgClient[] = [];
  return {
    name: 'pg',
    pool: pool as unknown as SqlConnection,
    reserve: async () => {
      const client = await take();
      const connection = client as unknown as SqlConnection;
      return { connection, processId: client.processID ?? undefined, release: async () => client.release() };
    },
    listen: async (channel, heard) => {
      const client = await take();
      listening.push(client);
      client.on('notification', heard);
      await client.query(`listen "${channel}"`);
    },
    close: async () => {
      // end() waits for every connection that was taken.
      for (const client of listening) client.release(true);
      await pool.end();
    },
  };
}

interface PostgresJsSql {
  unsafe(text: string): Promise<unknown>;
  reserve(): Promise<SqlConnection>;
  listen(channel: string, heard: () => void): Promise<unknown>;
  end(options: { timeout: number }): Promise<void>;
}

type PostgresJs = (...args: readonly unknown[]) => PostgresJsSql;
type PostgresJsModule = PostgresJs | { readonly default: PostgresJs };

function postgresJsDriver(module: PostgresJsModule, target: DatabaseTarget): Driver {
  const connect = typeof module === 'function' ? module : module.default;
  const { host, port, user, password, database, url } = target;
  const options = {
    connect_timeout: target.connectMs / 1_000,
    onnotice: () => undefined,
    // Its query for them is awaited by nobody: where the server ends the connection meanwhile, that would end the process.
    fetch_types: false,
    connection: { application_name: NAME },
  };
  const open = (max: number): PostgresJsSql =>
    url === undefined
      ? connect({
          ...options,
          max,
          host,
          port,
          username: user,
          ...(password === undefined ? {} : { password }),
          database,
        })
      : connect(url, { ...options, max });
  const sql = open(CONNECTIONS);
  return {
    name: 'postgres.js',
    pool: sql as unknown as SqlConnection,
    reserve: async () => {
      // Without the types, reserve() never answers where it has to open a connection: one of its own is opened by a statement.
      const own = open(1);
      const end = async (): Promise<void> => own.end({ timeout: 1 });
      try {
        await own.unsafe('select 1');
        const connection = await own.reserve();
        return { connection, processId: undefined, release: end };
      } catch (error) {
        await end();
        throw error;
      }
    },
    listen: async (channel, heard) => {
      await sql.listen(channel, heard);
    },
    close: async () => sql.end({ timeout: 1 }),
  };
}
