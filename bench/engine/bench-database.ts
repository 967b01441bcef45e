import { randomBytes } from 'node:crypto';
import { Client, Pool } from 'pg';
import { startPrivate, type RunningServer } from '../../test/support/private-server.ts';
import { SERVICES } from '../../test/support/services/index.ts';

/** A real server that syncs each commit to disk. */
export interface BenchServer {
  /** The settings that decide about speed, as the server tells them. */
  readonly settings: Readonly<Record<string, string>>;
  /** A database of its own, for one measure. */
  open(): Promise<BenchDatabase>;
  close(): Promise<void>;
}

/** A fresh database, with the table `effect` that handlers write to. */
export interface BenchDatabase {
  readonly url: string;
  /** For what the bench itself asks and prepares. */
  readonly admin: Pool;
  close(): Promise<void>;
}

const SETTINGS = [
  'server_version',
  'fsync',
  'synchronous_commit',
  'full_page_writes',
  'shared_buffers',
  'max_wal_size',
  'jit',
];

/** Finds a server as the tests do: given, listening, docker, own instance. */
export async function findBenchServer(): Promise<BenchServer> {
  const started: RunningServer[] = [];
  const start = async (server: Parameters<typeof startPrivate>[0]): Promise<void> => {
    started.push(await startPrivate(server));
  };
  const url = await SERVICES.postgres.obtain({ env: process.env, announce: (line) => console.error(line), start });
  const settings: Record<string, string> = {};
  for (const name of SETTINGS) settings[name] = (await onServer(url, `show ${name}`))[0]?.[name] ?? 'unknown';
  if (settings['fsync'] !== 'on' || settings['synchronous_commit'] !== 'on') {
    throw new Error('this server does not sync commits to disk; rates measured on it mean nothing');
  }
  return {
    settings,
    open: () => makeDatabase(url),
    close: async () => {
      for (const server of started) await server.stop();
    },
  };
}

async function makeDatabase(serverUrl: string): Promise<BenchDatabase> {
  const name = `holdfast_bench_${randomBytes(4).toString('hex')}`;
  await onServer(serverUrl, `create database ${name}`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  const admin = poolOn(url.href, 4);
  await admin.query('create table effect (message text not null, total int not null)');
  return {
    url: url.href,
    admin,
    close: async () => {
      await admin.end();
      await onServer(serverUrl, `drop database ${name} with (force)`);
    },
  };
}

/** A pool. What is lost while it rests is no matter: its database goes away by force in the end. */
export function poolOn(url: string, max: number): Pool {
  const pool = new Pool({ connectionString: url, max });
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
}

/** Between two timed parts: nobody pays for the dead rows and dirty pages of the one before. */
export async function settleDown({ admin }: BenchDatabase): Promise<void> {
  await admin.query('truncate effect');
  await admin.query('vacuum (analyze)');
  // Not everybody may ask for a checkpoint; it only evens out the noise.
  await admin.query('checkpoint').catch(() => undefined);
}

async function onServer(url: string, statement: string): Promise<Record<string, string>[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, string>>(statement)).rows;
  } finally {
    await client.end();
  }
}
