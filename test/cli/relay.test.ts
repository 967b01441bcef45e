import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, onTestFinished } from 'vitest';
import { needs } from '../support/needs.ts';
import { EXPENSES_SERVICE, openExpenses } from './expenses.ts';
import { runHoldfast, startHoldfast } from './holdfast-process.ts';

const test = needs('postgres');
const relay = ['relay', '--config', EXPENSES_SERVICE];

function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-cli-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

describe('holdfast relay', () => {
  test('with --once handles all that is ready, then ends [S1.5]', async ({ postgres }) => {
    const { file, drain, ask } = await openExpenses(postgres);
    await file(
      { employee: 'ann', ledger: 'takes' },
      { employee: 'ann', ledger: 'takes' },
      { employee: 'bob', ledger: 'fails' },
    );
    const { out } = await drain();
    expect(out).toMatch(/relay of expenses started as worker/);
    expect(out).toMatch(
      /ledger {2}expense\.filed .* attempt 1 of 5 failed, tried again in .*: Error: the ledger is closed/,
    );
    expect(out).toMatch(/drained: 5 handled, 1 retry; what waits for a retry is left for the next run\n$/);
    expect(await ask('outbox:stats')).toMatchObject({
      handlers: [
        { handler: 'ledger', pending: 0, waiting: 1, delivered: 2 },
        { handler: 'totals', pending: 0, waiting: 0, delivered: 3 },
      ],
    });
  });

  test('runs until SIGTERM, lets what runs end, gives back its units and ends with 0', async ({ postgres }) => {
    const { env, file, ask, client, schema } = await openExpenses(postgres);
    const running = startHoldfast([...relay, '--json', '--verbose'], { env });
    await running.until(/"kind":"started"/);
    await file({ employee: 'ann', ledger: 'takes' });
    await running.until(/"kind":"run-done".*\n.*"kind":"run-done"/);
    expect(await ask('handlers')).toMatchObject({ handlers: [{ workers: [expect.any(String)] }, {}] });
    running.child.kill('SIGTERM');
    const { code, out, err } = await running.ended;
    expect({ code, err }).toEqual({ code: 0, err: '' });
    const lines = out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { kind: string });
    expect(lines.map((line) => line.kind)).toEqual(['started', 'run-done', 'run-done', 'stopping', 'ended']);
    expect(lines.at(-1)).toMatchObject({ done: 2, dead: 0, isDrained: false });
    const left = await client.query(
      `select 1 from ${schema}.worker union all select 1 from ${schema}.lease where owner is not null`,
    );
    expect(left.rows).toEqual([]);
  });

  test('aborts what does not end within --drain, and no attempt is spent', async ({ postgres }) => {
    const { env, file, ask } = await openExpenses(postgres);
    const [id = ''] = await file({ employee: 'ann', ledger: 'hangs' });
    const running = startHoldfast([...relay, '--drain', '50ms'], { env });
    await running.until(/^hanging$/m);
    running.child.kill('SIGINT');
    await running.until(/SIGINT: stopping, what runs has 50 ms to end/);
    expect((await running.ended).code).toBe(0);
    expect(await ask('dlq:show', id)).toMatchObject({ status: 'pending', attempts: 0 });
  });

  test('ends at once at a second signal', async ({ postgres }) => {
    const { env, file } = await openExpenses(postgres);
    await file({ employee: 'ann', ledger: 'hangs' });
    const running = startHoldfast([...relay, '--drain', '10m'], { env });
    await running.until(/^hanging$/m);
    running.child.kill('SIGTERM');
    await running.until(/SIGTERM: stopping/);
    running.child.kill('SIGTERM');
    expect((await running.ended).code).toBe(143);
  });

  test('says what is wrong with the module it is given', async () => {
    const folder = folderWith({
      'empty.js': 'export const other = 1;',
      'broken.js': `throw new Error('no such setting');`,
      'options.js': `export const hf = { start() {} }, startOptions = 'all';`,
      'after.js': `export const hf = { start() {} }, afterStop = true;`,
    });
    const said = async (...args: string[]): Promise<string> => {
      const { code, err } = await runHoldfast(['relay', ...args], { cwd: folder });
      expect(code).toBe(1);
      expect(err.trimEnd().split('\n')).toHaveLength(1);
      return err;
    };
    expect(await said()).toContain('no holdfast.config.ts is here; write one');
    expect(await said('--config', 'gone.js')).toContain('there is no file gone.js');
    expect(await said('--config', 'empty.js')).toContain('empty.js exports no service; write export default holdfast(');
    expect(await said('--config', 'broken.js')).toContain('broken.js cannot be loaded: no such setting');
    expect(await said('--config', 'options.js')).toContain('startOptions of options.js is no object');
    expect(await said('--config', 'after.js')).toContain('afterStop of after.js is no function');
  });

  test('takes the default export of holdfast.config in its folder', async ({ postgres }) => {
    const { env } = await openExpenses(postgres);
    const service = `export { hf as default } from ${JSON.stringify(pathToFileURL(EXPENSES_SERVICE).href)};`;
    const cwd = folderWith({ 'holdfast.config.mjs': service });
    const { code, out } = await runHoldfast(['relay', '--once'], { env, cwd });
    expect(out).toContain('relay of expenses started');
    expect(code).toBe(0);
  });

  test('is started as the module says, and lets it send what is left before it ends [S1.10]', async ({ postgres }) => {
    const { env, file } = await openExpenses(postgres);
    await file({ employee: 'ann', ledger: 'takes' });
    const traced = `
      export { hf } from ${JSON.stringify(pathToFileURL(EXPENSES_SERVICE).href)};
      const say = (text) => process.stdout.write(text + '\\n');
      export const startOptions = {
        handlers: ['ledger', 'totals'],
        observers: [({ kind, handler }) => kind === 'run-done' && say('observed ' + handler)],
        wrapRun: ({ handler }, run) => (say('wrapped ' + handler), run()),
      };
      export const afterStop = () => new Promise((end) => setImmediate(() => end(say('all sent'))));`;
    const cwd = folderWith({ 'holdfast.config.mjs': traced });
    const { code, out } = await runHoldfast(['relay', '--once', '--handlers', 'ledger'], { env, cwd });
    expect(code).toBe(0);
    const said = out.split('\n').filter((line) => /^(observed|wrapped|all)/.test(line));
    expect(said).toEqual(['wrapped ledger', 'observed ledger', 'all sent']);
    expect(out).toMatch(/drained: 1 handled/);
  });

  test('that has no schema to work on says to migrate', async ({ postgres }) => {
    const { code, err } = await runHoldfast([...relay, '--once'], {
      env: { HOLDFAST_DATABASE_URL: postgres.url, HOLDFAST_SCHEMA: `${postgres.namespace}_none` },
    });
    expect(code).toBe(1);
    expect(err).toContain('holdfast migrate');
  });
});
