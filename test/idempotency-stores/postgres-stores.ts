import { Client, Pool, type PoolConfig } from 'pg';
import postgresJs from 'postgres';
import { afterAll } from 'vitest';
import type { AtomicIdempotencyStore, Claim } from '../../src/idempotency/idempotency-store.ts';
import { migrate, postgresIdempotency } from '../../src/postgres/index.ts';
import { type SqlConnection, sqlRunner, type SqlTransaction } from '../../src/postgres/sql-runner.ts';
import type { TestServer } from '../support/needs.ts';
import { sharedPglite } from '../support/shared-pglite.ts';
import { rivalOf } from './new-claim.ts';

/** A store over one client, with whatever else a test does in its database. */
export interface StoreUnderTest {
  readonly schema: string;
  readonly store: AtomicIdempotencyStore<SqlTransaction>;
  /** The first column of each row, with `$` in place of the schema; on the pool. */
  column(text: string): Promise<unknown[]>;
  /** Writes a line into the table of effects, which takes every line as often as it comes. */
  effect(tx: SqlTransaction, line: string): Promise<void>;
  /** How often that line is there. */
  effects(line: string): Promise<number>;
  close(): Promise<void>;
}

/** Where a client finds its server and its migrated schema. */
export interface Place {
  readonly url: string;
  readonly schema: string;
}

/**
 * The schema that each `needs` has to itself, migrated. For tests that share it because their records and effects have names of
 * their own: a migration takes longer than most of them.
 */
export async function sharedPlace({ url, namespace }: TestServer): Promise<Place> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await migrate(client, { schema: namespace });
  } finally {
    await client.end();
  }
  return { url, schema: namespace };
}

/** The same server, for sessions with that setting. */
export function withSetting(url: string, name: string, value: string): string {
  const leads = new URL(url);
  const setting = `-c ${name}=${value.replace(' ', '\\ ')}`;
  leads.searchParams.set('options', `${leads.searchParams.get('options') ?? ''} ${setting}`);
  return leads.href;
}

/** Opens a store for the first test of a `describe` that asks, and closes it after the last. */
export function sharedStore<Servers extends readonly unknown[]>(
  open: (...servers: Servers) => Promise<StoreUnderTest>,
): (...servers: Servers) => Promise<StoreUnderTest> {
  let opened: Promise<StoreUnderTest> | undefined;
  afterAll(async () => {
    await (await opened)?.close();
  });
  return (...servers) => (opened ??= open(...servers));
}

type Open = (place: Place) => Promise<StoreUnderTest>;

/** Over pg, with a pool of its own. Close it. */
export async function openPg({ url, schema }: Place, config: PoolConfig = {}): Promise<StoreUnderTest> {
  const pool = new Pool({ connectionString: url, max: 16, ...config });
  // Tests end sessions on purpose.
  pool.on('error', () => undefined);
  return about(schema, pool, postgresIdempotency({ pool, schema }), () => pool.end());
}

/** Over postgres.js, with a pool of its own. Close it. */
export async function openPostgresJs({ url, schema }: Place, options: object = {}): Promise<StoreUnderTest> {
  const sql = postgresJs(url, { max: 16, onnotice: () => undefined, ...options });
  // Without a limit it waits for ever once a connection of its was cut.
  return about(schema, sql, postgresIdempotency({ pool: sql, schema }), () => sql.end({ timeout: 1 }));
}

let schemas = 0;

/** Over PGlite, with a schema of its own. Close it. */
export async function openPglite(): Promise<StoreUnderTest> {
  const db = await sharedPglite();
  const schema = `store_${(schemas += 1)}`;
  await migrate(db, { schema });
  return about(schema, db, postgresIdempotency({ pool: db, schema }), async () => {
    await db.exec(`drop schema ${schema} cascade`);
  });
}

/** The clients of a server. */
export const SERVER_CLIENTS: readonly { readonly client: string; readonly open: Open }[] = [
  { client: 'pg', open: openPg },
  { client: 'postgres.js', open: openPostgresJs },
];

async function about(
  schema: string,
  connection: SqlConnection,
  store: AtomicIdempotencyStore<never>,
  close: () => Promise<void>,
): Promise<StoreUnderTest> {
  const sql = sqlRunner(connection);
  await sql.query(`create table if not exists ${schema}.effect (line text not null)`);
  const column: StoreUnderTest['column'] = async (text) =>
    (await sql.query(text.replaceAll('$', schema))).map((row) => Object.values(row)[0]);
  return {
    schema,
    store: store as unknown as AtomicIdempotencyStore<SqlTransaction>,
    column,
    effect: async (tx, line) =>
      void (await sqlRunner(tx).query(`insert into ${schema}.effect values ($1::text)`, [line])),
    effects: async (line) =>
      (await sql.query(`select line from ${schema}.effect where line = $1::text`, [line])).length,
    close,
  };
}

/** The same request by another owner, who would take over. */
export function heirOf(claim: Claim, facts: Partial<Claim> = {}): Claim {
  return rivalOf(claim, { leaseMs: 60_000, takeUnknown: true, ...facts });
}
