import { Client } from 'pg';
import { describe, expect, onTestFinished } from 'vitest';
import { needs } from '../support/needs.ts';
import { moduleRun } from './module-run.ts';
import { commandService } from './runs.ts';

const test = needs('postgres');
const run = moduleRun();

describe('the same command twice', () => {
  test('is one command with one execution and one answer, also when two connections ask at once [S0.7]', async ({
    postgres,
  }) => {
    const here = await commandService(postgres);
    let calls = 0;
    here.commands.handle(run, async () => ({ artifact: (calls += 1) }));
    const other = new Client({ connectionString: postgres.url });
    await other.connect();
    onTestFinished(() => other.end());
    const asked = { runId: 'run_1', moduleId: 'plan' };
    const first = await here.inTransaction(async (tx) => {
      const sent = await here.commands.send(tx, run, asked);
      await other.query('begin');
      // It waits for the first to commit or roll back, and is its duplicate then.
      const second = here.commands.send(other, run, asked).then(async (again) => {
        await other.query('commit');
        return again;
      });
      await expect
        .poll(() => here.column(`select count(*)::int from pg_locks where not granted and pid = ${pidOf(other)}`))
        .toEqual([1]);
      return { sent, second };
    });
    expect(first.sent).toMatchObject({ isNew: true, state: 'queued' });
    const { commandId } = first.sent;
    expect(await first.second).toEqual({ commandId, isNew: false, state: 'queued' });
    await here.start();
    expect(await here.commands.wait(commandId)).toMatchObject({ kind: 'done', answer: { artifact: 1 } });
    const late = await here.inTransaction((tx) => here.commands.send(tx, run, asked));
    expect(late).toEqual({ commandId, isNew: false, state: 'done' });
    expect((await here.commands.get({ key: 'workflow:u1:run_1:module:plan:v1' }))?.answer).toEqual({ artifact: 1 });
    expect({ calls, rows: await here.column('select count(*)::int from $.command') }).toEqual({ calls: 1, rows: [1] });
  });

  test('is carried out if the one before was rolled back [S0.7]', async ({ postgres }) => {
    const here = await commandService(postgres);
    const asked = { runId: 'run_1', moduleId: 'plan' };
    const undone = here.inTransaction(async (tx) => {
      await here.commands.send(tx, run, asked);
      throw new Error('the route failed');
    });
    await expect(undone).rejects.toThrow('the route failed');
    expect(await here.column('select id from $.command union all select id from $.delivery')).toEqual([]);
    const sent = await here.inTransaction((tx) => here.commands.send(tx, run, asked));
    expect(sent.isNew).toBe(true);
  });

  test('with another payload, or of another name, is refused and leaves the transaction usable', async ({
    postgres,
  }) => {
    const here = await commandService(postgres);
    const loose = moduleRun('dlq', 2, 'module.check');
    const { commandId } = await here.inTransaction(async (tx) => {
      // The order of the fields does not make another payload.
      await here.commands.plan(tx, run, { runId: 'run_1', moduleId: 'plan', version: 'v1' });
      const sent = await here.commands.send(tx, run, { version: 'v1', moduleId: 'plan', runId: 'run_1' });
      for (const again of [
        () => here.commands.send(tx, run, { runId: 'run_1', moduleId: 'plan' }),
        () => here.commands.plan(tx, loose, { runId: 'run_1', moduleId: 'plan', version: 'v1' }),
      ]) {
        await expect(again()).rejects.toMatchObject({
          code: 'COMMAND_KEY_REUSED',
          details: { key: 'workflow:u1:run_1:module:plan:v1', commandId: sent.commandId },
        });
      }
      return sent;
    });
    expect(await here.story(commandId)).toBe('idle queued');
  });
});

describe('a command that is planned', () => {
  test('is idle until it is asked for, and keeps its id [S0.7]', async ({ postgres }) => {
    const here = await commandService(postgres);
    here.commands.handle(run, async (_, ctx) => ({ id: ctx.commandId, user: ctx.correlation.userId }));
    await here.start();
    const asked = { runId: 'run_1', moduleId: 'plan' };
    const plan = await here.inTransaction((tx) => here.commands.plan(tx, run, asked));
    expect(plan).toMatchObject({ state: 'idle', isNew: true });
    expect(await here.inTransaction((tx) => here.commands.plan(tx, run, asked))).toEqual({ ...plan, isNew: false });
    expect(await here.column('select id from $.delivery')).toEqual([]);
    const sent = await here.inTransaction((tx) => here.commands.send(tx, run, asked, { userId: 'u_9' }));
    expect(sent).toEqual({ commandId: plan.commandId, state: 'queued', isNew: true });
    const { commandId } = sent;
    expect(await here.commands.wait(commandId)).toMatchObject({ answer: { id: commandId, user: 'u_9' } });
    expect(await here.story(commandId)).toBe('idle queued running:1 done:1');
  });
});

describe('a run', () => {
  test('shows its modules with the newest command of each, and all its commands [S0.7]', async ({ postgres }) => {
    const here = await commandService(postgres);
    const plan = { runId: 'run_1', moduleId: 'plan' };
    const first = await here.send(run, plan);
    const document = await here.send(run, { runId: 'run_1', moduleId: 'document' });
    const second = await here.send(run, { ...plan, version: 'v2' });
    await here.send(run, { runId: 'run_2', moduleId: 'plan' });
    expect(await here.commands.run('run_1')).toMatchObject({
      target: 'run_1',
      modules: [
        { module: 'plan', commandId: second, state: 'queued', idempotencyKey: 'workflow:u1:run_1:module:plan:v2' },
        { module: 'document', commandId: document, attempts: 0, error: undefined },
      ],
      commands: [{ commandId: first }, { commandId: document }, { commandId: second }],
    });
    expect(await here.commands.run('run_3')).toBeUndefined();
    expect(await here.commands.get('no id at all')).toBeUndefined();
  });

  test('of two services on one database that have a command of one name is carried out by its own alone [X.17]', async ({
    postgres,
  }) => {
    const here = await commandService(postgres);
    const there = here.another({ service: 'billing' });
    const calls: string[] = [];
    here.commands.handle(run, async () => void calls.push('orders'));
    there.on(run.event, 'commands', () => void calls.push('billing'));
    await here.start({ of: there });
    const commandId = await here.send(run, { runId: 'run_1', moduleId: 'plan' });
    await here.start();
    expect(await here.commands.wait(commandId)).toMatchObject({ kind: 'done' });
    expect(calls).toEqual(['orders']);
    const handlers = await here.operator.handlers();
    expect(handlers.map(({ service, types }) => `${service}: ${types.join()}`)).toEqual([
      'billing: command:module.run',
      'orders: command:module.run',
    ]);
    expect(await here.column('select count(*)::int from $.delivery')).toEqual([0]);
  });
});

function pidOf(client: Client): number {
  return (client as Client & { readonly processID: number }).processID;
}
