import pg, { type PoolClient } from 'pg';
import postgresJs, { type TransactionSql } from 'postgres';
import { onTestFinished } from 'vitest';
import { findDriver } from '../../src/postgres/driver/find-driver.ts';
import { systemEffects } from '../../src/system/effects.ts';
import { freshSchema } from '../support/fresh-schema.ts';
import type { TestServer } from '../support/needs.ts';

/** A pool of one connection, so that the next effect has the connection of the one before. */
export interface Stage<Tx> {
  /** Commits what `effect` does, or rejects. `restMs`: how long nothing may be asked of the transaction; default a minute. */
  run(effect: (tx: Tx) => Promise<unknown>, restMs?: number): Promise<unknown>;
  /** The lines that were committed. */
  lines(): Promise<unknown>;
}

async function stageOver<Tx>(pool: unknown, query: (text: string) => PromiseLike<unknown>): Promise<Stage<Tx>> {
  const driver = findDriver(pool, systemEffects);
  if (driver === undefined) throw new Error('no driver for this pool');
  return {
    run: (effect, restMs = 60_000) =>
      driver.transaction(
        restMs,
        (tx) => effect(tx as Tx),
        () => Promise.resolve('kept'),
      ),
    lines: async () => query('select line from effect order by line'),
  };
}

/** An effect over pg, with a table `effect`. */
export async function onPg(server: TestServer): Promise<Stage<PoolClient>> {
  const schema = await freshSchema(server);
  const pool = new pg.Pool({ connectionString: server.url, max: 1 });
  pool.on('connect', (client) => void client.query(`set search_path = ${schema}`));
  onTestFinished(() => pool.end());
  await pool.query('create table effect (line text not null)');
  return stageOver(pool, async (text) => {
    const { rows } = await pool.query<{ line: string }>(text);
    return rows.map(({ line }) => line);
  });
}

/** An effect over postgres.js, with a table `effect`. */
export async function onPostgresJs(server: TestServer): Promise<Stage<TransactionSql>> {
  const schema = await freshSchema(server);
  const sql = postgresJs(server.url, { max: 1, onnotice: () => undefined, connection: { search_path: schema } });
  onTestFinished(() => sql.end({ timeout: 1 }));
  await sql`create table effect (line text not null)`;
  return stageOver(sql, async (text) => {
    const rows = await sql.unsafe<{ line: string }[]>(text);
    return rows.map(({ line }) => line);
  });
}
/** What late use comes to: an error's code, or `nothing`. Must never reach the connection: the effect around it would notice. */
export async function late(use: () => unknown): Promise<string> {
  try {
    await use();
    return 'nothing';
  } catch (error) {
    return String((error as { code?: unknown }).code);
  }
}
