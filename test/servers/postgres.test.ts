import { once } from 'node:events';
import { Client, type Notification } from 'pg';
import { describe, expect, onTestFinished } from 'vitest';
import { needs, type TestServer } from '../support/needs.ts';
import { dropSchema, prepareSchema } from '../support/postgres-server.ts';

describe('the PostgreSQL that was found', () => {
  const test = needs('postgres');

  test('keeps what was committed and nothing of what was rolled back', ({ postgres }) => commitAndRollBack(postgres));
  test('wakes a listener on another connection', ({ postgres }) => notify(postgres));
  test('is cleaned of a namespace with everything in it', async ({ postgres }) => {
    const name = `${postgres.namespace}x`;
    const scoped = await prepareSchema(postgres.url, name);
    const client = await connect({ url: scoped, namespace: name });
    await client.query('create table kept (id int)');
    const left = async (): Promise<number | null> =>
      (await client.query('select 1 from pg_namespace where nspname = $1', [name])).rowCount;
    expect(await left()).toBe(1);
    await dropSchema(scoped, name);
    expect(await left()).toBe(0);
  });
  test('syncs each commit to disk', async ({ postgres }) => expect(await show(postgres, 'fsync')).toBe('on'));
});

describe('the embedded PostgreSQL', () => {
  const test = needs('embeddedPostgres');

  test('keeps what was committed, nothing of what was rolled back', ({ embeddedPostgres }) =>
    commitAndRollBack(embeddedPostgres));
  test('wakes a listener on a second connection', ({ embeddedPostgres }) => notify(embeddedPostgres));
  test('syncs every commit to disk [X.1]', async ({ embeddedPostgres }) => {
    expect(await show(embeddedPostgres, 'fsync')).toBe('on');
    expect(await show(embeddedPostgres, 'synchronous_commit')).toBe('on');
  });
  test('is another server than the one that was found', async ({ embeddedPostgres }) => {
    expect(await show(embeddedPostgres, 'data_directory')).toContain('holdfast-embedded-postgres-');
  });
});

async function connect(server: TestServer): Promise<Client> {
  const client = new Client({ connectionString: server.url });
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

async function show(server: TestServer, setting: string): Promise<unknown> {
  const client = await connect(server);
  const { rows } = await client.query<Record<string, unknown>>(`show ${setting}`);
  return rows[0]?.[setting];
}

async function commitAndRollBack(server: TestServer): Promise<void> {
  const writer = await connect(server);
  const reader = await connect(server);
  await writer.query('create table kept (id int primary key)');
  await writer.query('begin; insert into kept values (1); commit');
  await writer.query('begin');
  await writer.query('insert into kept values (2)');
  expect((await reader.query('select id from kept')).rows).toEqual([{ id: 1 }]);
  await writer.query('rollback');
  expect((await reader.query('select id from kept')).rows).toEqual([{ id: 1 }]);
  const { rows } = await reader.query(`select table_schema from information_schema.tables where table_name = 'kept'`);
  expect(rows).toEqual([{ table_schema: server.namespace }]);
}

async function notify(server: TestServer): Promise<void> {
  const listener = await connect(server);
  const sender = await connect(server);
  await listener.query(`listen ${server.namespace}`);
  const heard = once(listener, 'notification') as Promise<[Notification]>;
  await sender.query(`select pg_notify($1, 'hello')`, [server.namespace]);
  expect((await heard)[0]).toMatchObject({ channel: server.namespace, payload: 'hello' });
}
