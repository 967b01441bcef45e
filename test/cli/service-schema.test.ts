import { describe, expect, onTestFinished } from 'vitest';
import type { TestServer } from '../support/needs.ts';
import { needs } from '../support/needs.ts';
import { openExpenses } from './expenses.ts';
import type { Said } from './holdfast-process.ts';
import { connect } from './own-schema.ts';
import { runHere } from './run-here.ts';

const test = needs('postgres');

let databases = 0;

/** A database of its own: the schemas of all tests that run at the same time would be searched too. */
async function ownDatabase(server: TestServer): Promise<TestServer> {
  const name = `${server.namespace}_services_${(databases += 1)}`;
  const admin = await connect(server);
  await admin.query(`create database ${name}`);
  onTestFinished(async () => void (await admin.query(`drop database ${name} with (force)`)));
  const own = new URL(server.url);
  own.pathname = `/${name}`;
  own.search = '';
  return { ...server, url: own.href };
}

describe('--service on the command line', () => {
  test('finds the service in whatever schema it is, without --schema [S1.8]', async ({ postgres }) => {
    const server = await ownDatabase(postgres);
    const expenses = await openExpenses(server);
    const run = (...args: readonly string[]): Promise<Said> =>
      runHere(args, { env: { HOLDFAST_DATABASE_URL: server.url } });
    await expenses.file({ employee: 'ann', ledger: 'refuses' });
    await expenses.drain();

    // The schema holdfast does not even exist.
    const peek = await run('dlq:peek', '--service', 'expenses');
    expect(peek).toMatchObject({ code: 0, out: expect.stringMatching(/^handler +expenses\/ledger$/m), err: '' });
    expect((await run('outbox:stats', '--service', 'expenses')).out).toMatch(/^expenses\/ledger .*\n1 dead letter;/ms);
    const nowhere = await run('dlq:peek', '--service', 'payroll');
    expect(nowhere).toMatchObject({ code: 1, err: expect.stringContaining('has no schema "holdfast" of ours') });
    expect(await run('migrate')).toMatchObject({ code: 0 });
    expect((await run('dlq:peek', '--service', 'payroll')).out).toMatch(/^No dead letters fit --service\./);

    const replay = await run('dlq:replay', '--service', 'expenses', '--since', '15m');
    expect(replay).toEqual({ code: 0, out: '1 delivery will run again.\n', err: '' });
    await expenses.drain({ isMended: true });
    expect((await run('dlq:list', '--service', 'expenses', '--status', 'replayed')).out).toContain('expenses/ledger');
  });

  test('never leaves the schema that was named, and does not guess between two [S1.8]', async ({ postgres }) => {
    const server = await ownDatabase(postgres);
    const env = { HOLDFAST_DATABASE_URL: server.url };
    const [first, second] = [await openExpenses(server), await openExpenses(server)];
    for (const one of [first, second]) {
      await one.file({ employee: one.schema, ledger: 'refuses' });
      await one.drain();
    }
    const peek = ['dlq:peek', '--service', 'expenses'];
    const names = [first.schema, second.schema].toSorted().join(', ');
    expect(await runHere(peek, { env })).toEqual({
      code: 2,
      out: '',
      err: `error: the service "expenses" is in the schemas ${names}; name one of them with --schema\n`,
    });
    for (const { schema } of [first, second]) {
      expect((await runHere([...peek, '--schema', schema], { env })).out).toContain(`key ${schema}`);
      expect((await runHere(peek, { env: { ...env, HOLDFAST_SCHEMA: schema } })).out).toContain(`key ${schema}`);
    }
    await first.client.query(`drop schema ${second.schema} cascade`);
    await runHere(['migrate', '--schema', 'other'], { env });
    for (const named of [{ ...env, HOLDFAST_SCHEMA: 'other' }, env]) {
      const args = named === env ? [...peek, '--schema', 'other'] : peek;
      expect((await runHere(args, { env: named })).out).toMatch(/^No dead letters fit --service\./);
    }
    expect((await runHere(peek, { env })).out).toContain(`key ${first.schema}`);
    // The default schema is looked into first.
    await first.client.query(`create schema if not exists holdfast`);
    await runHere(['migrate'], { env });
    await first.client.query(`insert into holdfast.handler (id, service, name) values (1, 'expenses', 'ledger')`);
    expect((await runHere(peek, { env })).out).toMatch(/^No dead letters fit --service\./);
  });
});
