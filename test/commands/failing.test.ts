import { describe, expect } from 'vitest';
import { postgresCommands } from '../../src/postgres/index.ts';
import { command, durableCommands } from '../../src/commands/index.ts';
import { needs } from '../support/needs.ts';
import { type ModuleRun, moduleRun } from './module-run.ts';
import { type CommandService, commandService } from './runs.ts';

const test = needs('postgres');
const by = { actor: 'ada', reason: 'the service is back' };

/** Two commands of one run, the first of which fails as long as `isBroken`. */
async function twoModules(
  here: CommandService,
  run: ReturnType<typeof moduleRun>,
): Promise<{ first: string; second: string; outage: { isBroken: boolean }; calls: string[] }> {
  const outage = { isBroken: true };
  const calls: string[] = [];
  here.commands.handle(run, async ({ moduleId }, ctx) => {
    calls.push(ctx.idempotencyKey);
    if (outage.isBroken && moduleId === 'interview') throw new Error('the interview service is away');
    return moduleId;
  });
  const first = await here.send(run, { runId: 'run_1', moduleId: 'interview' });
  const second = await here.send(run, { runId: 'run_1', moduleId: 'plan' });
  await here.start();
  return { first, second, outage, calls };
}

describe('a command whose attempts are used up', () => {
  test('is blocked, and later ones of its run wait until it is replayed and go on in order then [S0.7] [X.4]', async ({
    postgres,
  }) => {
    const here = await commandService(postgres);
    const { first, second, outage, calls } = await twoModules(here, moduleRun('blocked'));
    expect(await here.commands.wait(first)).toMatchObject({ kind: 'blocked', error: { message: /away/ } });
    expect(await here.commands.wait(second, { timeoutMs: 0 })).toMatchObject({ kind: 'timeout' });
    expect((await here.operator.deadLetters()).items).toMatchObject([{ messageId: first, holds: true }]);
    outage.isBroken = false;
    expect(await here.operator.replay(first, by)).toEqual({ kind: 'replayed', count: 1 });
    expect(await here.commands.wait(second)).toMatchObject({ kind: 'done', answer: 'plan' });
    const error = '!the interview service is away';
    expect(await here.story(first)).toBe(
      `queued running:1 retry_wait:1${error} running:2 blocked:2${error} queued running:1 done:1`,
    );
    expect(await here.story(second)).toBe('queued running:1 done:1');
    const key = 'workflow:u1:run_1:module:interview:v1';
    // The same key at every attempt and after the replay.
    expect(calls).toEqual([key, key, key, 'workflow:u1:run_1:module:plan:v1']);
    const events = await here.eventsOf(first);
    expect(events.map(({ n, idempotencyKey, actor, replays }) => ({ n, idempotencyKey, actor, replays }))).toEqual(
      events.map((_, at) => ({
        n: at + 1,
        idempotencyKey: key,
        actor: at === 5 ? 'ada' : undefined,
        replays: at < 5 ? 0 : 1,
      })),
    );
  });

  test('goes to the dead letters, and the others of its run go on; replayed from SQL it is done after all [S0.7] [S4.4]', async ({
    postgres,
  }) => {
    const here = await commandService(postgres);
    const { first, second, outage } = await twoModules(here, moduleRun('dlq'));
    expect(await here.commands.wait(first)).toMatchObject({ kind: 'dlq', command: { attempts: 2, replays: 0 } });
    expect(await here.commands.wait(second)).toMatchObject({ kind: 'done' });
    outage.isBroken = false;
    expect(await here.column(`select $.outbox_replay('${first}', null, 'psql') ->> 'answer'`)).toEqual(['replayed']);
    expect(await here.commands.wait(first)).toMatchObject({
      kind: 'done',
      command: { attempts: 1, replays: 1, error: undefined },
    });
    expect(await here.story(first)).toMatch(/ dlq:2!\S.* replaying running:1 done:1$/);
    expect((await here.eventsOf(first)).find(({ to }) => to === 'replaying')).toMatchObject({ actor: 'psql' });
  });

  test('is blocked or not by its own payload, under rules of its own, in one line with commands of other kinds', async ({
    postgres,
  }) => {
    const here = await commandService(postgres);
    const [once, thrice] = [moduleRun('dlq', 1, 'once'), moduleRun('blocked', 3, 'thrice')];
    const order: string[] = [];
    const fail = (run: ModuleRun): never => {
      order.push(run.moduleId);
      throw new Error('away');
    };
    here.commands.handle(once, async (payload) => fail(payload));
    here.commands.handle(thrice, async (payload) => fail(payload));
    const a = await here.send(once, { runId: 'run_1', moduleId: 'a' });
    const b = await here.send(thrice, { runId: 'run_1', moduleId: 'b' });
    const c = await here.send(once, { runId: 'run_1', moduleId: 'c' });
    await here.start();
    expect(await here.commands.wait(b)).toMatchObject({ kind: 'blocked', command: { attempts: 3 } });
    expect(await here.commands.wait(a)).toMatchObject({ kind: 'dlq', command: { attempts: 1 } });
    expect(await here.commands.get(c)).toMatchObject({ state: 'queued' });
    expect(order).toEqual(['a', 'b', 'b', 'b']);
  });
});

describe('a command that was not run at all', () => {
  test('because its payload does not fit any more goes through running to its end [S0.7]', async ({ postgres }) => {
    const here = await commandService(postgres);
    const run = moduleRun('blocked');
    here.commands.handle(run, async () => 'never');
    const id = await here.send(run, { runId: 'run_1', moduleId: 'plan' });
    await here.column(`update $.delivery set payload = '{"runId":"run_1"}' returning 1`);
    await here.start();
    expect(await here.commands.wait(id)).toMatchObject({ kind: 'blocked', error: { code: 'PAYLOAD_UNREADABLE' } });
    expect(await here.story(id)).toBe('queued running:1 blocked:1!PAYLOAD_UNREADABLE');
  });

  test('because it killed its processes ends as one that has failed for good [S0.7]', async ({ postgres }) => {
    const here = await commandService(postgres);
    const run = moduleRun();
    here.commands.handle(run, async () => 'never');
    const id = await here.send(run, { runId: 'run_1', moduleId: 'plan' });
    await here.column('update $.delivery set starts = 100 returning 1');
    await here.start();
    expect(await here.commands.wait(id)).toMatchObject({ kind: 'dlq', error: { code: 'PROCESS_KILLED' } });
    expect(await here.story(id)).toBe('queued running:1 dlq:1!PROCESS_KILLED');
  });

  test('because its time was up before it could be written that it runs is not run late, nor shown as running [S0.7]', async ({
    postgres,
  }) => {
    const here = await commandService(postgres);
    const store = postgresCommands({ pool: here.pool, schema: here.schema });
    let starts = 0;
    const late = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<unknown>();
    // The second attempt waits for a connection for longer than it has time.
    const start: typeof store.start = async (...args) => {
      starts += 1;
      if (starts !== 2) return store.start(...args);
      await late.promise;
      const started = store.start(...args);
      begun.resolve(started);
      return started;
    };
    const commands = durableCommands({ holdfast: here.hf, store: { ...store, start } });
    const run = command<{ runId: string }>('slow.run', {
      target: ({ runId }) => runId,
      key: ({ runId }) => `slow:${runId}`,
      timeoutMs: 200,
      policy: { maxAttempts: 3, baseDelayMs: 1_500, maxDelayMs: 1_500, jitter: 'none' },
    });
    const calls: number[] = [];
    commands.handle(run, async (_, ctx) => {
      calls.push(ctx.attempt);
      if (ctx.attempt < 3) throw new Error('away');
      return 'done after all';
    });
    const id = await here.inTransaction(async (tx) => (await commands.send(tx, run, { runId: 'run_1' })).commandId);
    await here.start();
    await expect.poll(async () => here.story(id)).toMatch(/ATTEMPT_TIMEOUT$/);
    late.resolve();
    expect(await begun.promise).toBe('taken');
    expect(await commands.wait(id)).toMatchObject({ kind: 'done' });
    expect(calls).toEqual([1, 3]);
    expect(await here.story(id)).toBe(
      'queued running:1 retry_wait:1!away running:2 retry_wait:2!ATTEMPT_TIMEOUT running:3 done:3',
    );
  });

  test('because the database could not be asked has used no attempt', async ({ postgres }) => {
    const here = await commandService(postgres);
    const store = postgresCommands({ pool: here.pool, schema: here.schema });
    let failures = 2;
    const start: typeof store.start = async (...args) => {
      if (failures-- > 0) throw new Error('Connection terminated unexpectedly');
      return store.start(...args);
    };
    const commands = durableCommands({ holdfast: here.hf, store: { ...store, start } });
    const run = moduleRun('dlq', 1);
    commands.handle(run, async (_, ctx) => ctx.attempt);
    const id = await here.send(run, { runId: 'run_1', moduleId: 'plan' });
    await here.start();
    expect(await commands.wait(id)).toMatchObject({ kind: 'done', answer: 1 });
    expect({ failures, story: await here.story(id) }).toEqual({ failures: -1, story: 'queued running:1 done:1' });
  });
});

describe('an operator', () => {
  test('who discards a command closes it, and the line goes on; replayed it is open again [S0.7]', async ({
    postgres,
  }) => {
    const here = await commandService(postgres);
    const { first, second, outage } = await twoModules(here, moduleRun('blocked'));
    await here.commands.wait(first);
    expect(await here.operator.discard(first, by)).toMatchObject({ kind: 'discarded' });
    expect(await here.commands.wait(first)).toMatchObject({ kind: 'closed', command: { state: 'blocked' } });
    expect(await here.commands.wait(second)).toMatchObject({ kind: 'done' });
    outage.isBroken = false;
    expect(await here.operator.replay(first, by, { handlers: ['commands'] })).toEqual({ kind: 'replayed', count: 1 });
    expect(await here.commands.wait(first)).toMatchObject({ kind: 'done', command: { replays: 1 } });
    expect(await here.story(first)).toMatch(/ blocked:2!\S.* closed:2!\S.* reopened!\S.* queued running:1 done:1$/);
    expect(await here.column(`select actor from $.command_event where kind <> 'moved'`)).toEqual(['ada', 'ada']);
  });

  test('who takes back that a waiting command was given up has replayed it once [S0.7]', async ({ postgres }) => {
    const here = await commandService(postgres);
    const run = moduleRun('dlq', 1);
    const outage = { isBroken: true };
    here.commands.handle(run, async () => {
      if (outage.isBroken) throw new Error('away');
    });
    const relay = await here.start();
    await relay.stop();
    const id = await here.send(run, { runId: 'run_1', moduleId: 'plan' });
    await here.operator.retire('commands', by, { discardOpen: true });
    expect(await here.commands.wait(id)).toMatchObject({ kind: 'closed', command: { state: 'queued' } });
    await here.start();
    await here.operator.replay(id, by, { handlers: ['commands'] });
    expect(await here.commands.wait(id)).toMatchObject({ kind: 'dlq', command: { replays: 1 } });
    outage.isBroken = false;
    await here.operator.replay(id, by);
    expect(await here.commands.wait(id)).toMatchObject({ kind: 'done' });
    expect((await here.eventsOf(id)).map(({ to, replays }) => `${to} ${replays}`)).toEqual([
      'queued 0',
      'queued 0',
      'queued 1',
      'running 1',
      'dlq 1',
      'replaying 2',
      'running 2',
      'done 2',
    ]);
  });

  test('who discards a command that runs has the last word', async ({ postgres }) => {
    const here = await commandService(postgres);
    const run = moduleRun();
    const [begun, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    here.commands.handle(run, async (_, ctx) => {
      begun.resolve();
      await goOn.promise;
      return ctx.commit(async (tx) => void (await tx.query(`insert into "${here.schema}".effect values ('late', 1)`)));
    });
    const id = await here.send(run, { runId: 'run_1', moduleId: 'plan' });
    await here.start();
    await begun.promise;
    expect(await here.operator.discard(id, by, { open: true })).toMatchObject({ kind: 'discarded' });
    goOn.resolve();
    await expect.poll(() => here.events.some(({ kind }) => kind === 'run-refused')).toBe(true);
    expect(await here.commands.wait(id)).toMatchObject({ kind: 'closed' });
    expect(await here.column('select id from $.effect')).toEqual([]);
    // Open again it is in its next cycle, as its delivery is.
    await here.operator.replay(id, by, { handlers: ['commands'] });
    expect(await here.commands.wait(id)).toMatchObject({ kind: 'done', command: { replays: 1, attempts: 1 } });
    expect(await here.column('select cycle from $.delivered where outcome = 0')).toEqual([1]);
    expect(await here.column('select id from $.effect')).toEqual(['late']);
  });

  test('who edits the payload of a command changes the key it hands on, and nothing else [S0.7]', async ({
    postgres,
  }) => {
    const here = await commandService(postgres);
    const { first, calls } = await twoModules(here, moduleRun('dlq', 1));
    await here.commands.wait(first);
    const edited = await here.operator.edit(first, { runId: 'run_1', moduleId: 'mended' }, by);
    expect(edited).toMatchObject({ kind: 'edited', version: 1 });
    expect(await here.commands.wait(first)).toMatchObject({ kind: 'done', answer: 'mended' });
    const key = 'workflow:u1:run_1:module:interview:v1';
    expect(calls).toEqual([key, 'workflow:u1:run_1:module:plan:v1', `${key}-e1`]);
    expect((await here.commands.get({ key }))?.commandId).toBe(first);
  });
});
