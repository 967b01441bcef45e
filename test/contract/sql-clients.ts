import type { PGlite } from '@electric-sql/pglite';
import { Client, Pool } from 'pg';
import postgresJs from 'postgres';
import { onTestFinished } from 'vitest';
import { postgres } from '../../src/postgres/index.ts';
import type { SqlTransaction } from '../../src/postgres/sql-runner.ts';
import type { RelayStore } from '../../src/relay/relay-store.ts';
import type { ContractTransaction } from '../../src/testing/index.ts';
import type { SqlClient } from './sql-harness.ts';

/** A connection for a moment. */
export async function withClient(url: string, work: (client: Client) => Promise<unknown>): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}

/** node-postgres. `listenUrl`: where LISTEN works, when `url` leads through a pooler. */
export async function pgClient(url: string, schema: string, listenUrl?: string): Promise<SqlClient> {
  const pool = openPool(url);
  const listen = listenUrl === undefined ? {} : { listen: openPool(listenUrl) };
  return {
    store: postgres({ schema, pool, ...listen }) as unknown as RelayStore<SqlTransaction>,
    connection: pool,
    canOverlap: true,
    begin: async () => {
      const client = await pool.connect();
      await client.query('begin');
      const end = (word: string) => async (): Promise<void> => {
        await client.query(word);
        client.release();
      };
      return { tx: client, commit: end('commit'), rollback: end('rollback') };
    },
  };
}

function openPool(connectionString: string): Pool {
  const pool = new Pool({ connectionString, max: 8 });
  onTestFinished(() => pool.end());
  return pool;
}

/** postgres.js. */
export async function postgresJsClient(url: string, schema: string): Promise<SqlClient> {
  const sql = postgresJs(url, { max: 8, onnotice: () => undefined });
  onTestFinished(() => sql.end());
  return {
    store: postgres({ schema, pool: sql }) as unknown as RelayStore<SqlTransaction>,
    connection: sql,
    canOverlap: true,
    begin: async () => {
      const reserved = await sql.reserve();
      await reserved.unsafe('begin');
      const end = (word: string) => async (): Promise<void> => {
        await reserved.unsafe(word);
        reserved.release();
      };
      return { tx: reserved, commit: end('commit'), rollback: end('rollback') };
    },
  };
}

/** PGlite: the database in this process, with one connection. */
export async function pgliteClient(db: PGlite, schema: string): Promise<SqlClient> {
  return {
    store: postgres({ schema, pool: db }) as unknown as RelayStore<SqlTransaction>,
    connection: db,
    canOverlap: false,
    begin: () =>
      new Promise<ContractTransaction<SqlTransaction>>((resolve, reject) => {
        const { promise: ended, resolve: end } = Promise.withResolvers<boolean>();
        const finish = async (isKept: boolean): Promise<void> => {
          end(isKept);
          await over;
        };
        const over = db.transaction(async (tx) => {
          resolve({ tx, commit: () => finish(true), rollback: () => finish(false) });
          if (!(await ended)) await tx.rollback();
        });
        over.catch(reject);
      }),
  };
}
