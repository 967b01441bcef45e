import { expect, test } from 'vitest';
import { virtualTime } from '../testing/virtual-time.ts';
import type { OwnedUnit } from './owned-unit.ts';
import type { Delivery } from './relay-store.ts';
import { Run } from './run.ts';
import { Timeouts } from './timeouts.ts';

function watched(): {
  time: ReturnType<typeof virtualTime>;
  timeouts: Timeouts<unknown>;
  start: (timeoutMs: number) => Run<unknown>;
  ended: Run<unknown>[];
} {
  const time = virtualTime();
  const ended: Run<unknown>[] = [];
  const timeouts = new Timeouts<unknown>(time, (run) => {
    run.isOver = true;
    ended.push(run);
  });
  const start = (timeoutMs: number): Run<unknown> => {
    const delivery = { attempts: 0 } as Delivery;
    const about = { delivery, unit: {} as OwnedUnit, handler: 'h', maxAttempts: 1, startedMs: time.monoMs() };
    const run = new Run<unknown>({ commit: () => Promise.resolve(), workerId: () => 'w' }, about);
    timeouts.watch(run, timeoutMs);
    return run;
  };
  return { time, timeouts, start, ended };
}

test('each run ends when its own time is up, in whatever order others end, with one timer for a length', async () => {
  const { time, timeouts, start, ended } = watched();
  const first = start(100);
  await time.advance(40);
  const second = start(100);
  const third = start(100);
  expect(time.pendingTimers).toBe(1);
  timeouts.forget(second);
  await time.advance(60);
  expect(ended).toEqual([first]);
  expect(first.aborted?.reason).toMatchObject({ code: 'ATTEMPT_TIMEOUT' });
  await time.advance(39);
  expect(ended).toEqual([first]);
  await time.advance(1);
  expect(ended).toEqual([first, third]);
  expect(time.pendingTimers).toBe(0);
});

test('a run whose commit is on its way is not given up before that has ended', async () => {
  const { time, start, ended } = watched();
  const run = start(100);
  const commit = Promise.withResolvers<'committed'>();
  const committing = run.commitWith(() => commit.promise);
  await time.advance(1_000);
  expect(ended).toEqual([]);
  expect(run.aborted).toBeDefined();
  commit.resolve('committed');
  await committing;
  await time.advance(1);
  expect(ended).toEqual([run]);
  expect(run.committed).toBe('committed');
});

test('no timer is left when it is stopped, and none is set for a run without a limit', async () => {
  const { time, timeouts, start } = watched();
  start(Infinity);
  expect(time.pendingTimers).toBe(0);
  start(100);
  timeouts.stop();
  expect(time.pendingTimers).toBe(0);
});
