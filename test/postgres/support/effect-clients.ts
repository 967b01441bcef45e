import { Pool } from 'pg';
import postgresJs from 'postgres';
import { onTestFinished } from 'vitest';
import { postgres } from '../../../src/postgres/index.ts';
import { type SqlConnection, sqlRunner, type SqlTransaction } from '../../../src/postgres/sql-runner.ts';
import type { RelayStore } from '../../../src/relay/relay-store.ts';
import type { TestServer } from '../../support/needs.ts';
import { freshSchema, freshSchemaOn } from '../../support/fresh-schema.ts';
import { sharedPglite } from '../../support/shared-pglite.ts';

/** A store on a schema of its own over one client, whose handlers' transactions go through few connections. */
export interface EffectClient {
  readonly schema: string;
  readonly store: RelayStore<SqlTransaction>;
  /** In a transaction of its own. */
  within<T>(work: (tx: SqlTransaction) => Promise<T>): Promise<T>;
  /** The first column of each row, with `$` in place of the schema. */
  column(query: string): Promise<unknown[]>;
}

/** Each client we run handlers on. */
export const EFFECT_CLIENTS: readonly { readonly name: string; open(server: TestServer): Promise<EffectClient> }[] = [
  {
    name: 'pg',
    open: async (server) => {
      const schema = await freshSchema(server);
      const pool = new Pool({ connectionString: server.url, max: 4 });
      pool.on('error', () => undefined);
      onTestFinished(() => pool.end());
      const within: EffectClient['within'] = async (work) => {
        const tx = await pool.connect();
        await tx.query('begin');
        const result = await work(tx);
        await tx.query('commit');
        tx.release();
        return result;
      };
      return about(schema, pool, postgres({ pool, schema }), within);
    },
  },
  {
    name: 'postgres.js',
    open: async (server) => {
      const schema = await freshSchema(server);
      const sql = postgresJs(server.url, { max: 4, onnotice: () => undefined });
      onTestFinished(() => sql.end({ timeout: 1 }));
      const within = (work: (tx: SqlTransaction) => Promise<unknown>): Promise<unknown> => sql.begin(work);
      return about(schema, sql, postgres({ pool: sql, schema }), within as EffectClient['within']);
    },
  },
  {
    name: 'PGlite',
    open: async () => {
      const db = await sharedPglite();
      const schema = await freshSchemaOn(db);
      return about(schema, db, postgres({ pool: db, schema }), (work) => db.transaction(work));
    },
  },
];

async function about(
  schema: string,
  connection: SqlConnection,
  store: RelayStore<never>,
  within: EffectClient['within'],
): Promise<EffectClient> {
  const runner = sqlRunner(connection);
  await runner.query(`create table ${schema}.effect (line text not null)`);
  return {
    schema,
    store: store as unknown as RelayStore<SqlTransaction>,
    within,
    column: async (text) => (await runner.query(text.replaceAll('$', schema))).map((row) => Object.values(row)[0]),
  };
}
