import type { PoolClient } from 'pg';
import { postgres } from '../../../src/postgres/index.ts';
import type { TestServer } from '../../support/needs.ts';
import type { ClientUnderTest } from './contract-harness.ts';
import { pooled } from './fresh-schema.ts';

/** The store over pg, as the contract wants it. */
export function pgUnderTest(server: Pick<TestServer, 'url'>, schema: string): ClientUnderTest<PoolClient> {
  const pool = pooled(server);
  return {
    store: postgres({ pool, schema }),
    canOverlap: true,
    begin: async () => {
      const tx = await pool.connect();
      await tx.query('begin');
      const end = async (how: string): Promise<void> => {
        await tx.query(how);
        tx.release();
      };
      return { tx, commit: () => end('commit'), rollback: () => end('rollback') };
    },
    run: async (text, values = []) => (await pool.query({ text, values, rowMode: 'array' })).rows as unknown[][],
    runIn: (tx, text, values) => tx.query(text, values),
  };
}
