import { randomUUID } from 'node:crypto';
import { describe, expect, onTestFinished } from 'vitest';
import type { TraceEntry } from '../../src/operator/index.ts';
import { factRecorder } from '../../src/postgres/index.ts';
import { moduleRun } from '../commands/module-run.ts';
import { commandService } from '../commands/runs.ts';
import { needs } from '../support/needs.ts';
import { type ActionIds, stage, type Stage, told } from './one-action.ts';

const test = needs('postgres');

const FIRST: ActionIds = { requestId: 'req-1', userId: 'user-1', runId: 'run-1', idempotencyKey: 'order-key-1' };

/** What went wrong is put right by hand: an edit, a replay, a discard. */
async function mend(on: Stage, eventId: string): Promise<void> {
  const { operator } = on;
  const dead = async (): Promise<readonly string[]> =>
    (await operator.deadLetters()).items.map(({ handler }) => handler).toSorted();
  await expect.poll(dead).toEqual(['letters', 'score', 'stats']);
  on.isBroken = false;
  const [done] = (await operator.deadLetters({ handler: 'score' })).items;
  const id = done?.messageId ?? '';
  await operator.discard(id, { actor: 'eve', reason: 'not needed' }, { handlers: ['stats'] });
  await operator.edit(id, { runId: 'run-1', points: 1 }, { actor: 'ann', reason: 'the points were missing' });
  await operator.replay(eventId, { actor: 'bob', reason: 'the address is known' });
}

/** How the timeline of the first action ends in these tests. */
const CHAIN = [
  'by-hand edit to version 1 of module.done ok',
  'growth by-hand replay of module.done → score ok',
  'growth command module.run of run-1, plan',
  'growth command module.run of run-1, plan',
  'growth command module.run of run-1, plan',
  'growth command module.run of run-1, plan failed',
  'growth command module.run of run-1, plan ok',
  'growth dead module.done → score failed',
  'growth dead module.done → stats failed',
  'growth discarded module.done → stats',
  'growth handled module.done → score ok',
  'growth sent module.done',
  'mail by-hand replay of order.placed → letters ok',
  'mail dead order.placed → letters failed',
  'mail handled order.placed → letters ok',
  'mail received order.placed ok',
  'shop call agent.run failed',
  'shop call agent.run ok',
  'shop handled order.placed → to-local ok',
  'shop request POST /runs ok',
  'shop sent order.placed',
];

const lines = (entries: readonly TraceEntry[]): string[] => entries.map(told).toSorted();

describe('trace', () => {
  test('gives the same chain over three services and a broker for every id of an action, with failures, replays and edits [X.7] [S0.12]', async ({
    postgres,
  }) => {
    const on = await stage(postgres);
    on.isBroken = true;
    const { eventId, commandId } = await on.ask(FIRST);
    await mend(on, eventId);
    await expect.poll(async () => lines((await on.traceOf('req-1')).entries)).toEqual(CHAIN);
    const { entries } = await on.traceOf('req-1');
    const idOf = (step: string, name: string): string =>
      entries.find((entry) => entry.step === step)?.ids[name] ?? `no ${name}`;
    const ids = {
      request: ['req-1', 'request'],
      'idempotency key': ['order-key-1', 'idempotency key'],
      event: [eventId.toUpperCase(), 'event'],
      'an event that was caused': [idOf('discarded', 'eventId'), 'event'],
      command: [commandId, 'command'],
      "the command's key, as it went over the wire": ['growth:user-1:run-1:plan:v1', 'idempotency key'],
      run: ['run-1', 'run'],
      user: ['user-1', 'user'],
      'source id': [idOf('received', 'sourceId'), 'source id'],
      'dead letter': [idOf('dead', 'dlqId'), 'dead letter'],
      "a handler's key": ['order-key-1:letters', 'idempotency key'],
      'the beginning of an event': [eventId.slice(0, 30), 'event'],
    };
    for (const [kind, [id = '', as]] of Object.entries(ids)) {
      const found = await on.traceOf(id);
      expect({ kind, as: found.as, lines: lines(found.entries) }).toMatchObject({ kind, lines: CHAIN });
      expect(found.as, kind).toContain(as);
      expect(found.isCut, kind).toBe(false);
    }
    inOrderOfTime(entries);
  });

  const inOrderOfTime = (entries: readonly TraceEntry[]): void => {
    const times = entries.map(({ at }) => at.getTime());
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    const detailOf = (step: string, what: string): string | undefined =>
      entries.find((entry) => entry.step === step && entry.what.includes(what))?.detail;
    expect(detailOf('by-hand', 'letters')).toBe('by bob: the address is known');
    expect(detailOf('by-hand', 'edit')).toBe('by ann: the points were missing');
    expect(detailOf('discarded', 'stats')).toContain('by eve: not needed');
    expect(detailOf('dead', 'letters')).toBe('TerminalHandlerError: no address, dead letter after 1 attempt');
    const attempts = entries.filter(({ step }) => step === 'call').map(({ attempt, detail }) => [attempt, detail]);
    expect(attempts).toEqual([
      [1, 'status 503, overload, attempt 1 of 3, may be tried again'],
      [2, 'status 200, attempt 2 of 3'],
    ]);
    expect(entries.filter(({ step }) => step === 'command').map(({ detail }) => detail)).toEqual([
      'queued',
      'queued → running, attempt 1',
      'running → retry_wait: Error: the agent sleeps, attempt 1',
      'retry_wait → running, attempt 2',
      'running → done, attempt 2',
    ]);
    expect(entries.find(({ step }) => step === 'handled' && step)?.service).toBe('shop');
  };

  test('joins nothing through a user or a run, and tells of a user the latest actions [X.7]', async ({ postgres }) => {
    const on = await stage(postgres);
    await on.ask(FIRST);
    await on.ask({ ...FIRST, requestId: 'req-2', idempotencyKey: 'order-key-2', runId: 'run-2' });
    await on.ask({ ...FIRST, requestId: 'req-3', idempotencyKey: 'order-key-3', runId: 'run-2', userId: 'user-3' });
    const requests = async (id: string): Promise<(string | undefined)[]> =>
      (await on.traceOf(id)).entries.filter(({ step }) => step === 'request').map(({ ids }) => ids['requestId']);
    await expect.poll(() => requests('user-1')).toEqual(['req-1', 'req-2']);
    expect(await requests('req-1')).toEqual(['req-1']);
    expect(await requests('req-2')).toEqual(['req-2']);
    expect(await requests('run-1')).toEqual(['req-1']);
    expect(await requests('run-2')).toEqual(['req-2', 'req-3']);
    expect(await requests('user-3')).toEqual(['req-3']);
    const open = (await on.traceOf('req-3')).entries;
    expect(open.map(({ service }) => service)).toContain('shop');
  });

  test('of what nobody has sent there is nothing, and no text does any harm [X.7]', async ({ postgres }) => {
    const on = await stage(postgres);
    await on.ask({ ...FIRST, requestId: `'; drop schema x; --` });
    const { operator } = on;
    const found = await on.traceOf(`'; drop schema x; --`);
    expect(found.entries.map(({ step }) => step)).toContain('request');
    const odd = [
      'req',
      'user-',
      '%',
      '{}',
      '{"a"}',
      'null',
      "''",
      '\\',
      '"',
      '$1',
      '🙂',
      randomUUID(),
      'a'.repeat(2_000),
    ];
    for (const id of odd) expect(await operator.trace(id), id).toEqual({ kind: 'not-found' });
    for (const id of ['', '  ', '\u0000', '\uD800', 'a'.repeat(2_001), 7 as never]) {
      expect(await operator.trace(id)).toMatchObject({ kind: 'bad-id' });
    }
    await expect(operator.trace('x', { limit: 0 })).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
    await expect(operator.trace('x', { limit: 5_001 })).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
  });

  test('what a command asked of others after an edit of its payload belongs to it, by either key [X.7]', async ({
    postgres,
  }) => {
    const here = await commandService(postgres);
    const facts = factRecorder({ service: 'orders', pool: here.pool, schema: here.schema });
    onTestFinished(() => facts.stop());
    const run = moduleRun('dlq', 1);
    here.commands.handle(run, async ({ moduleId }, ctx) => {
      facts.call({ operation: 'agent.run', idempotencyKey: ctx.idempotencyKey });
      if (moduleId === 'plan') throw new Error('no such module');
    });
    const id = await here.send(run, { runId: 'run_1', moduleId: 'plan' });
    await here.start();
    await here.commands.wait(id);
    await here.operator.edit(id, { runId: 'run_1', moduleId: 'mended' }, { actor: 'ada', reason: 'mistyped' });
    await here.commands.wait(id);
    await facts.stop();
    const key = 'workflow:u1:run_1:module:plan:v1';
    for (const asked of [id, key, `${key}-e1`]) {
      const answer = await here.operator.trace(asked);
      if (answer.kind !== 'trace') throw new Error(answer.kind);
      const calls = answer.entries.filter(({ step }) => step === 'call');
      expect(calls.map(({ ids }) => ids['idempotencyKey'])).toEqual([key, `${key}-e1`]);
      expect(answer.entries.map(({ step }) => step)).toContain('command');
    }
  });

  test('an id of any length is found by all of it, and not by its beginning alone [X.7]', async ({ postgres }) => {
    const on = await stage(postgres);
    const [one, other] = [`${'🙂'.repeat(20)}${'x'.repeat(185)}1`, `${'🙂'.repeat(20)}${'x'.repeat(185)}2`];
    const { eventId } = await on.ask({ ...FIRST, requestId: one });
    const sent = await on.traceOf(one);
    expect(sent.entries.map(({ ids }) => ids['eventId'])).toContain(eventId);
    expect(await on.operator.trace(other)).toEqual({ kind: 'not-found' });
    expect(await on.operator.trace(`${'🙂'.repeat(20)}${'x'.repeat(180)}`)).toEqual({ kind: 'not-found' });
  });
});
