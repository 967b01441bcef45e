import pg from 'pg';
import { describe, expect, onTestFinished, test as plainTest } from 'vitest';
import { eventHandlerClassifier, serviceCallClassifier } from '../../src/retry/classifier.ts';
import { needs, type TestServer } from '../support/needs.ts';
import { closedPort, tcpServer, thrownBy } from './local-servers.ts';

async function connect(server: TestServer): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: server.url });
  // A connection that is ended by the server says so here as well; the query that was under way is what we look at.
  client.on('error', () => {});
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

function expectBoth(error: unknown, failure: object): void {
  expect(eventHandlerClassifier(error)).toEqual(failure);
  expect(serviceCallClassifier(error)).toEqual(failure);
}

describe('real failures of PostgreSQL', () => {
  const test = needs('postgres');

  test('a broken unique constraint is terminal [S4.3]', async ({ postgres }) => {
    const client = await connect(postgres);
    await client.query('create table once_only (id int primary key)');
    await client.query('insert into once_only values (1)');
    const error = await thrownBy(() => client.query('insert into once_only values (1)'));
    expectBoth(error, { verdict: 'fail', kind: 'database', code: '23505' });
  });

  test('so are a missing value and a broken check [S4.3]', async ({ postgres }) => {
    const client = await connect(postgres);
    await client.query('create table strict_row (id int not null check (id > 0))');
    expectBoth(await thrownBy(() => client.query('insert into strict_row values (null)')), {
      verdict: 'fail',
      kind: 'database',
      code: '23502',
    });
    expectBoth(await thrownBy(() => client.query('insert into strict_row values (-1)')), {
      verdict: 'fail',
      kind: 'database',
      code: '23514',
    });
  });

  test('a lost race between serializable transactions is transient [S4.3]', async ({ postgres }) => {
    const [one, two] = [await connect(postgres), await connect(postgres)];
    await one.query('create table counter (n int); insert into counter values (0)');
    for (const client of [one, two]) {
      await client.query('begin isolation level serializable');
      await client.query('select n from counter');
    }
    await one.query('update counter set n = n + 1');
    const lost = thrownBy(() => two.query('update counter set n = n + 1'));
    await one.query('commit');
    expectBoth(await lost, { verdict: 'retry', kind: 'database', code: '40001' });
  });

  test('a deadlock is transient [S4.3]', async ({ postgres }) => {
    const [one, two] = [await connect(postgres), await connect(postgres)];
    await one.query('create table pair (id int primary key, n int); insert into pair values (1, 0), (2, 0)');
    for (const client of [one, two]) await client.query('begin');
    await one.query('update pair set n = 1 where id = 1');
    await two.query('update pair set n = 2 where id = 2');
    const crossed = [one.query('update pair set n = 1 where id = 2'), two.query('update pair set n = 2 where id = 1')];
    const results = await Promise.allSettled(
      crossed.map(async (query, i) => {
        try {
          await query;
        } finally {
          // The victim's end lets the other one go on.
          await [one, two][i]?.query('rollback');
        }
      }),
    );
    const lost = results.filter((result) => result.status === 'rejected').map((result): unknown => result.reason);
    expect(lost).toHaveLength(1);
    expectBoth(lost[0], { verdict: 'retry', kind: 'database', code: '40P01' });
  });

  test('a lock that is not to be had, and a statement that takes too long, are transient [S4.3]', async ({
    postgres,
  }) => {
    const [one, two] = [await connect(postgres), await connect(postgres)];
    await one.query('create table held (id int)');
    await one.query('begin; lock table held');
    await two.query('begin');
    const noWait = await thrownBy(() => two.query('lock table held nowait'));
    await two.query('rollback');
    expectBoth(noWait, { verdict: 'retry', kind: 'database', code: '55P03' });
    await two.query(`set statement_timeout = '20ms'`);
    expectBoth(await thrownBy(() => two.query('select pg_sleep(30)')), {
      verdict: 'retry',
      kind: 'timeout',
      code: '57014',
    });
  });

  test('a connection that an administrator ends is transient [S4.3]', async ({ postgres }) => {
    const [victim, admin] = [await connect(postgres), await connect(postgres)];
    const { rows } = await victim.query<{ pid: number }>('select pg_backend_pid() as pid');
    const ended = thrownBy(() => victim.query('select pg_sleep(30)'));
    await admin.query('select pg_terminate_backend($1)', [rows[0]?.pid]);
    expectBoth(await ended, { verdict: 'retry', kind: 'database', code: '57P01' });
  });

  test('a missing table is left open: a handler tries again, a service call fails [S4.3]', async ({ postgres }) => {
    const client = await connect(postgres);
    const error = await thrownBy(() => client.query('select 1 from no_such_table'));
    expect(eventHandlerClassifier(error)).toEqual({ verdict: 'retry', kind: 'database', code: '42P01' });
    expect(serviceCallClassifier(error)).toEqual({ verdict: 'fail', kind: 'database', code: '42P01' });
  });

  test('a user who may not come in is a matter of credentials, mended by people: left open as well [S4.3]', async ({
    postgres,
  }) => {
    const url = new URL(postgres.url);
    url.username = 'nobody_of_that_name';
    url.password = 'wrong';
    const client = new pg.Client({ connectionString: url.href });
    client.on('error', () => {});
    const error = await thrownBy(() => client.connect());
    expect(eventHandlerClassifier(error)).toMatchObject({
      verdict: 'retry',
      kind: 'auth',
      code: expect.stringMatching(/^28/),
    });
    expect(serviceCallClassifier(error)).toMatchObject({ verdict: 'fail', kind: 'auth' });
  });
});

describe('no PostgreSQL at all', () => {
  plainTest('a closed port is transient [S4.3]', async () => {
    const client = new pg.Client({ host: '127.0.0.1', port: await closedPort(), user: 'u', database: 'd' });
    expectBoth(await thrownBy(() => client.connect()), { verdict: 'retry', kind: 'network', code: 'ECONNREFUSED' });
  });

  plainTest('a server that resets the connection is transient [S4.3]', async () => {
    const port = await tcpServer((socket) => socket.once('data', () => socket.resetAndDestroy()));
    const client = new pg.Client({ host: '127.0.0.1', port, user: 'u', database: 'd' });
    client.on('error', () => {});
    expectBoth(await thrownBy(() => client.connect()), { verdict: 'retry', kind: 'network', code: 'ECONNRESET' });
  });

  plainTest('a server that hangs up leaves pg without a code, so the error is unknown [S4.3]', async () => {
    const port = await tcpServer((socket) => socket.once('data', () => socket.end()));
    const client = new pg.Client({ host: '127.0.0.1', port, user: 'u', database: 'd' });
    client.on('error', () => {});
    const error = await thrownBy(() => client.connect());
    expect(eventHandlerClassifier(error)).toEqual({ verdict: 'retry', kind: 'unknown' });
    expect(serviceCallClassifier(error)).toEqual({ verdict: 'fail', kind: 'unknown' });
  });
});
