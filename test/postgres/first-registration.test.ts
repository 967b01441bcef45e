import type { PoolClient } from 'pg';
import { expect } from 'vitest';
import { postgres } from '../../src/postgres/index.ts';
import type { RelayStore } from '../../src/relay/relay-store.ts';
import { needs, type TestServer } from '../support/needs.ts';
import { connect, freshSchema, pooled } from './support/fresh-schema.ts';
import { join, message, own } from './support/worker.ts';

const test = needs('postgres');

async function stage(server: TestServer): Promise<{
  store: RelayStore<PoolClient>;
  schema: string;
  send: (count: number) => Promise<void>;
}> {
  const schema = await freshSchema(server);
  const pool = pooled(server);
  const store = postgres({ pool, schema });
  let sent = 0;
  const send = async (count: number): Promise<void> => {
    const tx = await pool.connect();
    await tx.query('begin');
    await store.append(
      tx,
      Array.from({ length: count }, () => message({ key: 'k', payload: `${(sent += 1)}` })),
    );
    await tx.query('commit');
    tx.release();
  };
  return { store, schema, send };
}

test('a handler that comes late finds everything that waited before what is sent after, however much it is [S1.9]', async ({
  postgres: server,
}) => {
  const { store, schema, send } = await stage(server);
  // More than is adopted in one transaction.
  await send(11_000);
  const joining = join(store);
  for (let n = 0; n < 5; n++) await send(1);
  await joining;
  await send(1);
  const client = await connect(server);
  const { rows } = await client.query(`select count(*)::int as lines, count(*) filter (where n <> place)::int as wrong
    from (select payload::int as n, row_number() over (order by seq) as place from ${schema}.delivery where handler = 1) d`);
  expect(rows).toEqual([{ lines: 11_006, wrong: 0 }]);
  expect((await client.query(`select from ${schema}.delivery where handler = 0`)).rowCount).toBe(0);
});

test('a transaction that somebody forgot does not keep a new handler from its work', async ({ postgres: server }) => {
  const { store, schema, send } = await stage(server);
  const forgotten = await connect(server);
  await forgotten.query('begin');
  await forgotten.query(`create table ${schema}.something (n int)`);
  const worker = await own(store);
  await send(1);
  expect((await worker.read()).ready.length).toBe(1);
  await forgotten.query('rollback');
});
