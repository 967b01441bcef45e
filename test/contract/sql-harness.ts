import type { RelayStore } from '../../src/relay/relay-store.ts';
import { type SqlConnection, sqlRunner, type SqlTransaction } from '../../src/postgres/sql-runner.ts';
import type { ContractHarness, ContractTransaction } from '../../src/testing/index.ts';

/** What is particular to one client. */
export interface SqlClient {
  readonly store: RelayStore<SqlTransaction>;
  /** Runs each statement on its own. */
  readonly connection: SqlConnection;
  begin(): Promise<ContractTransaction<SqlTransaction>>;
  readonly canOverlap: boolean;
}

/** The store on a database, with what the cases do to it from outside as plain statements. */
export async function sqlHarness(client: SqlClient, schema: string): Promise<ContractHarness<SqlTransaction>> {
  const sql = sqlRunner(client.connection);
  const poke = `insert into ${schema}.poke (unit, n) select distinct unit, 1 from changed
    on conflict (unit) do update set n = poke.n + 1`;
  await sql.query(`create table ${schema}.effect (n serial, line text)`);
  return {
    store: client.store,
    canOverlap: client.canOverlap,
    begin: () => client.begin(),
    pass: async (ms) => void (await sql.query(`select pg_sleep(${ms / 1_000})::text`)),
    effect: async (tx, line) =>
      void (await sqlRunner(tx).query(`insert into ${schema}.effect (line) values ($1::text)`, [line])),
    effects: async () =>
      (await sql.query(`select line from ${schema}.effect order by n`)).map(({ line }) => String(line)),
    edit: async (id, payload) => {
      const text = `with changed as (update ${schema}.delivery set payload = $2::text::jsonb, version = version + 1
        where id = $1::text::uuid returning unit) ${poke}`;
      await sql.query(text, [id, JSON.stringify(payload)]);
    },
    replay: async (id) => {
      const text = `with changed as (update ${schema}.delivery set state = 1, due_at = clock_timestamp(), failed_at = null,
        attempts = 0, starts = 0, retry = null, cycle = cycle + 1 where id = $1::text::uuid and state = 2 returning unit) ${poke}`;
      await sql.query(text, [id]);
    },
    pause: async (handler) =>
      void (await sql.query(`update ${schema}.handler set paused_at = now() where name = $1::text`, [handler])),
    limit: async (handler, limit) =>
      void (await sql.query(`update ${schema}.handler set run_limit = $2::text::int where name = $1::text`, [
        handler,
        limit,
      ])),
    finished: async () =>
      (await sql.query(`select id::text as id from ${schema}.delivered order by done_at`)).map(({ id }) => String(id)),
  };
}
