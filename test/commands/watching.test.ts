import { describe, expect } from 'vitest';
import type { StreamedCommandEvent } from '../../src/commands/index.ts';
import { needs } from '../support/needs.ts';
import { moduleRun } from './module-run.ts';
import { commandService } from './runs.ts';

const test = needs('postgres');
const run = moduleRun();

/** Takes so many events of a stream, and ends it. */
async function take(stream: AsyncIterable<StreamedCommandEvent>, count: number): Promise<StreamedCommandEvent[]> {
  const taken: StreamedCommandEvent[] = [];
  for await (const event of stream) if (taken.push(event) === count) break;
  return taken;
}

describe('wait', () => {
  test('tells that the time is up and where the command stands, and ends with the signal [S0.7]', async ({
    postgres,
  }) => {
    const here = await commandService(postgres);
    const id = await here.send(run, { runId: 'run_1', moduleId: 'plan' });
    expect(await here.commands.wait(id, { timeoutMs: 30 })).toMatchObject({
      kind: 'timeout',
      command: { state: 'queued' },
    });
    const stop = new AbortController();
    const waiting = here.commands.wait(id, { timeoutMs: 3_600_000, signal: stop.signal });
    stop.abort(new Error('the client went away'));
    await expect(waiting).rejects.toThrow('the client went away');
    await expect(here.commands.wait(id, { signal: AbortSignal.abort('gone') })).rejects.toBe('gone');
    expect(await here.commands.wait('01a1df13-c1a0-7e2b-8f55-90c1d7a3b402')).toEqual({ kind: 'not-found' });
    await expect(here.commands.wait(id, { timeoutMs: -1 })).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
  });
});

describe('events', () => {
  test('go on behind a cursor wherever it was, and end with the signal [S0.7]', async ({ postgres }) => {
    const here = await commandService(postgres);
    here.commands.handle(run, async () => 'done');
    const plan = await here.send(run, { runId: 'run_1', moduleId: 'plan' });
    const document = await here.send(run, { runId: 'run_1', moduleId: 'document' });
    await here.start();
    const all = await take(here.commands.events('run_1'), 6);
    const steps = all.map(({ commandId, n }) => ({ commandId, n }));
    expect(steps.toSorted((a, b) => a.commandId.localeCompare(b.commandId) || a.n - b.n)).toEqual(
      [plan, document].flatMap((commandId) => [1, 2, 3].map((n) => ({ commandId, n }))),
    );
    for (const [at, { cursor }] of all.slice(0, -1).entries()) {
      expect(await take(here.commands.events('run_1', { after: cursor }), 5 - at)).toEqual(all.slice(at + 1));
    }
    const stop = new AbortController();
    const rest = take(here.commands.events('run_1', { after: all[5]?.cursor, signal: stop.signal }), 1);
    stop.abort();
    expect(await rest).toEqual([]);
    expect(await take(here.commands.events('run_1', { signal: AbortSignal.abort() }), 1)).toEqual([]);
    expect(() => here.commands.events('run_1', { after: 'yesterday' })).toThrow('pass the cursor of an event');
  });

  test('of a transaction that commits after later ones are not passed by [S0.7]', async ({ postgres }) => {
    const here = await commandService(postgres);
    const stop = new AbortController();
    const seen: string[] = [];
    const reading = (async () => {
      for await (const { module } of here.commands.events('run_1', { signal: stop.signal })) seen.push(module);
    })();
    await here.inTransaction(async (tx) => {
      await here.commands.send(tx, run, { runId: 'run_1', moduleId: 'early' });
      await here.send(run, { runId: 'run_1', moduleId: 'late' });
      await expect.poll(() => seen).toEqual(['late']);
    });
    await expect.poll(() => seen).toEqual(['late', 'early']);
    stop.abort();
    await reading;
  });
});

describe('a finished command', () => {
  test('is kept with its events for its time and its key with it; an unfinished one for ever [X.16]', async ({
    postgres,
  }) => {
    const here = await commandService(postgres);
    here.commands.handle(run, async ({ moduleId }) => {
      if (moduleId === 'fails') throw new Error('away');
    });
    const [done, fails, given] = await Promise.all(
      ['done', 'fails', 'given-up'].map((moduleId) => here.send(run, { runId: moduleId, moduleId })),
    );
    await here.operator.discard(given ?? '', { actor: 'ada', reason: 'not wanted' }, { open: true });
    const relay = await here.start();
    for (const id of [done, fails]) await here.commands.wait(id ?? '');
    await relay.stop();
    const kept = `select module from $.command where expires_at between now() + interval '29 days' and now() + interval '30 days'`;
    expect(await here.column(`${kept} order by 1`)).toEqual(['done', 'given-up']);
    await here.column(`update $.command set updated_at = '2000-01-01', created_at = '2000-01-01',
      expires_at = case when expires_at is not null then now() end returning 1`);
    await here.start();
    await expect.poll(() => here.column('select module from $.command')).toEqual(['fails']);
    expect(await here.column('select distinct command::text from $.command_event')).toEqual([fails]);
    expect(await here.commands.get(done ?? '')).toBeUndefined();
  });
});
