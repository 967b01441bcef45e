import { setTimeout as sleep } from 'node:timers/promises';
import type { RelayStore } from '../../../src/relay/relay-store.ts';
import type { ContractHarness, ContractTransaction } from '../../../src/testing/index.ts';

type Sql = (text: string, params?: string[]) => Promise<readonly (readonly unknown[])[]>;

/** What differs between the clients of a PostgreSQL. `run` is outside of all transactions. */
export interface ClientUnderTest<Tx> {
  readonly store: RelayStore<Tx>;
  readonly canOverlap: boolean;
  begin(): Promise<ContractTransaction<Tx>>;
  readonly run: Sql;
  readonly runIn: (tx: Tx, text: string, params: string[]) => Promise<unknown>;
}

/** The contract's harness for any client of PostgreSQL. */
export async function postgresHarness<Tx>(schema: string, client: ClientUnderTest<Tx>): Promise<ContractHarness<Tx>> {
  const { run } = client;
  await run(`create table ${schema}.effect (line text not null)`);
  const poke = `insert into ${schema}.poke (unit, n) select distinct unit, 1 from ${schema}.delivery where id = $1::text::uuid
    on conflict (unit) do update set n = poke.n + 1`;
  return {
    store: client.store,
    canOverlap: client.canOverlap,
    begin: () => client.begin(),
    pass: (ms) => sleep(ms),
    effect: async (tx, line) => void (await client.runIn(tx, `insert into ${schema}.effect values ($1::text)`, [line])),
    effects: async () => (await run(`select line from ${schema}.effect`, [])).map(([line]) => String(line)),
    edit: async (id, payload) => {
      await run(
        `update ${schema}.delivery set payload = $2::text::jsonb, version = version + 1 where id = $1::text::uuid`,
        [id, JSON.stringify(payload)],
      );
      await run(poke, [id]);
    },
    replay: async (id) => {
      await run(
        `update ${schema}.delivery set state = 1, due_at = now(), failed_at = null, attempts = 0, cycle = cycle + 1,
          holds = key is not null where id = $1::text::uuid and state = 2`,
        [id],
      );
      await run(poke, [id]);
    },
    pause: async (handler) =>
      void (await run(`update ${schema}.handler set paused_at = now() where name = $1::text`, [handler])),
    limit: async (handler, limit) =>
      void (await run(`update ${schema}.handler set run_limit = $2::text::int where name = $1::text`, [
        handler,
        String(limit),
      ])),
    finished: async () => (await run(`select id::text from ${schema}.delivered`, [])).map(([id]) => String(id)),
  };
}
