import { type Client, Pool } from 'pg';
import { describe, expect, onTestFinished } from 'vitest';
import type { NewMessage } from '../../src/index.ts';
import { postgres } from '../../src/postgres/index.ts';
import { needs, type TestServer } from '../support/needs.ts';
import { connect, freshSchema } from './support/fresh-schema.ts';
import { message } from './support/worker.ts';

const test = needs('postgres');

type Store = ReturnType<typeof postgres>;

async function stage(server: TestServer): Promise<{ client: Client; schema: string; store: Store }> {
  const schema = await freshSchema(server);
  return { client: await connect(server), schema, store: postgres({ schema }) };
}

async function send(client: Client, store: Store, one: NewMessage): Promise<void> {
  await client.query('begin');
  await store.append(client, [one]);
  await client.query('commit');
}

describe('the fan-out', () => {
  test("a message is delivered to each handler of its type, or waits in nobody's lane [S4.1]", async ({
    postgres: server,
  }) => {
    const { client, schema, store } = await stage(server);
    await client.query(
      `insert into ${schema}.handler (id, service, name) values (1, 'orders', 'a'), (2, 'orders', 'b')`,
    );
    await client.query(`insert into ${schema}.lane (id, handler, generation) values (1, 1, null), (2, 2, 8)`);
    await client.query(`insert into ${schema}.subscription values ('thing.done', 1, false), ('thing.done', 2, true)`);
    const rows = async (): Promise<unknown> =>
      (
        await client.query(
          `select handler, unit / 32 as lane, unit % 32 as bucket from ${schema}.delivery order by seq`,
        )
      ).rows;
    await send(client, store, message({ generation: 7 }));
    const [first] = (await rows()) as { bucket: number }[];
    // The second handler takes the messages of generation 8, and this service sends those of 7: nobody has them yet.
    expect(await rows()).toEqual([
      { handler: 1, lane: 1, bucket: first?.bucket },
      { handler: 2, lane: 0, bucket: first?.bucket },
    ]);
    await client.query(`delete from ${schema}.delivery`);
    await send(client, store, message({ type: 'unheard.of' }));
    expect(await rows()).toMatchObject([{ handler: 0, lane: 0 }]);
  });

  test('messages of one call stand in its order, also beside very many subscriptions [S4.1]', async ({
    postgres: server,
  }) => {
    const { client, schema, store } = await stage(server);
    await client.query(
      `insert into ${schema}.handler (id, service, name) select n, 'orders', n from generate_series(1, 20) n`,
    );
    await client.query(`insert into ${schema}.lane (id, handler) select n, n from generate_series(1, 20) n`);
    await client.query(`insert into ${schema}.subscription
      select 'type.' || n % 500, 1 + n / 500, false from generate_series(0, 4999) n`);
    await client.query(`analyze ${schema}.subscription; analyze ${schema}.lane`);
    const messages = Array.from({ length: 1_000 }, (_, n) => message({ type: `type.${(n * 7) % 500}`, key: 'one' }));
    const keyed = messages.map((one, n) => ({ ...message({ type: one.type, key: 'two' }), idempotencyKey: `k${n}` }));
    await client.query('begin');
    await store.append(client, messages);
    await store.append(client, keyed);
    await client.query('commit');
    const { rows } = await client.query(`select id from ${schema}.delivery where handler = 1 order by seq`);
    expect(rows.map(({ id }) => id as string)).toEqual([...messages, ...keyed].map(({ id }) => id));
  });

  test('a full outbox refuses the message, stores nothing and leaves the transaction usable', async ({
    postgres: server,
  }) => {
    const { client, schema, store } = await stage(server);
    await client.query(`update ${schema}.meta set is_full = true`);
    await client.query('begin');
    for (const one of [message(), message({ idempotencyKey: 'k' })]) {
      await expect(store.append(client, [one])).rejects.toMatchObject({ code: 'OUTBOX_FULL' });
    }
    await client.query(`update ${schema}.meta set is_full = false`);
    expect(await store.append(client, [message({ idempotencyKey: 'k' })])).toMatchObject([{ kind: 'stored' }]);
    await client.query('commit');
    expect((await client.query(`select from ${schema}.delivery`)).rowCount).toBe(1);
  });
});

test('where a message from elsewhere was found first is kept, and each arrival is counted [S1.6]', async ({
  postgres: server,
}) => {
  const schema = await freshSchema(server);
  const client = await connect(server);
  const pool = new Pool({ connectionString: server.url, max: 2 });
  const session = await postgres({ pool, schema }).openRelay();
  onTestFinished(async () => {
    await session.close();
    await pool.end();
  });
  const one = message();
  for (const offset of [17, 18, 19]) await session.receive([{ ...one, sourceId: `kafka:orders@0@${offset}` }], 60_000);
  const { rows } = await client.query(`select id, source_id, times, last_at > first_at as later from ${schema}.inbox`);
  expect(rows).toEqual([{ id: one.id, source_id: 'kafka:orders@0@17', times: 3, later: true }]);
  expect((await client.query(`select from ${schema}.delivery`)).rowCount).toBe(1);
});
