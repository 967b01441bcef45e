import { Client, Pool } from 'pg';
import postgresJs from 'postgres';
import { expect, onTestFinished } from 'vitest';
import { event, holdfast } from '../../src/index.ts';
import { postgres } from '../../src/postgres/index.ts';
import { assertDelivered, assertNoSecondEffect, drain, freshSchema, postgresWire } from '../../src/testing/index.ts';
import { needs } from '../support/needs.ts';

const test = needs('postgres');
const COMMIT = /^commit$/i;

async function open(url: string) {
  const wire = await postgresWire(url);
  onTestFinished(() => wire.close());
  const direct = new Pool({ connectionString: url, max: 4 });
  onTestFinished(() => direct.end());
  const fresh = await freshSchema(direct);
  onTestFinished(() => fresh.drop());
  await direct.query(`create table "${fresh.schema}".effect (name text)`);
  const insert = `insert into "${fresh.schema}".effect values ($1)`;
  const effects = async (): Promise<string[]> => {
    const { rows } = await direct.query<{ name: string }>(`select name from "${fresh.schema}".effect order by name`);
    return rows.map(({ name }) => name);
  };
  return { wire, fresh, insert, effects };
}

test.for([
  ['unsent', []],
  ['answered', ['a']],
] as const)(
  'a commit whose connection is cut when it is %s is told as lost [X.13]',
  async ([point, kept], { postgres: { url } }) => {
    const { wire, insert, effects } = await open(url);
    const client = new Client({ connectionString: wire.url });
    client.on('error', () => undefined);
    await client.connect();
    await client.query('begin');
    await client.query(insert, ['a']);
    const cut = wire.cutAt(COMMIT, point);
    await expect(client.query('commit')).rejects.toThrow(/terminated|closed|reset/i);
    await cut;
    await expect.poll(effects).toEqual(kept);
  },
);

test('a statement that is stopped hangs until its connection is cut, and others pass [X.13]', async ({
  postgres: { url },
}) => {
  const { wire, insert, effects } = await open(url);
  const sql = postgresJs(wire.url, { max: 2, onnotice: () => undefined });
  onTestFinished(() => sql.end({ timeout: 1 }));
  // Prepared by name at first: the second time its text is not sent.
  await sql.unsafe(insert, ['a'], { prepare: true });
  const stopping = wire.stopAt('.effect values', 'sent');
  let isOver = false;
  const second = sql.unsafe(insert, ['b'], { prepare: true }).catch((error: unknown) => {
    isOver = true;
    return error;
  });
  const stopped = await stopping;
  expect(await sql`select 1 as one`).toMatchObject([{ one: 1 }]);
  expect(isOver).toBe(false);
  await expect.poll(effects).toEqual(['a', 'b']);
  stopped.cut();
  expect(await second).toMatchObject({ code: 'CONNECTION_CLOSED' });
});

test('a handler whose commit was done and whose answer was lost has its effect once [X.13]', async ({
  postgres: { url },
}) => {
  const { wire, fresh, insert, effects } = await open(url);
  const pool = new Pool({ connectionString: wire.url, max: 4 });
  pool.on('error', () => undefined);
  onTestFinished(() => pool.end());
  const charge = event<{ orderId: string }>('charge');
  const hf = holdfast({ service: 'orders', store: postgres({ pool, schema: fresh.schema }) });
  let runs = 0;
  hf.on(charge, 'charge', async ({ orderId }, ctx) => {
    runs += 1;
    await ctx.commit((tx) => tx.query(insert, [orderId]));
  });
  const tx = await pool.connect();
  await tx.query('begin');
  await hf.send(tx, charge, { orderId: 'ord_1' });
  await tx.query('commit');
  tx.release();
  // The relay commits on connections of its own too.
  const lost = wire.cutAt(COMMIT, 'answered', { after: '.effect values' });
  await drain(hf);
  await lost;
  expect(runs).toBe(1);
  assertNoSecondEffect(await effects(), (name) => name);
  expect(await effects()).toEqual(['ord_1']);
  await assertDelivered(fresh, charge, { orderId: 'ord_1' }, { count: 1 });
});
