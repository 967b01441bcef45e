import { describe, expect, test } from 'vitest';
import { virtualTime, type VirtualTime } from '../testing/virtual-time.ts';
import { Repeater, type Repetition } from './repeater.ts';

function told(
  time: VirtualTime,
  attempt: (times: number) => number | undefined | 'fail',
  untilMs = Infinity,
): Repetition & { readonly at: number[] } {
  const at: number[] = [];
  return {
    at,
    untilMs,
    holdsProcessUntilMs: 0,
    attempt: async () => {
      at.push(time.now().monoMs);
      const answer = attempt(at.length);
      if (answer === 'fail') throw new Error('down');
      return answer;
    },
  };
}

describe('what the store is told again', () => {
  test('is told until it is done, by one timer that is gone afterwards', async () => {
    const time = virtualTime();
    const repeater = new Repeater(time);
    const jobs = [told(time, (n) => (n < 3 ? 'fail' : undefined)), told(time, (n) => (n < 3 ? 1_000 : undefined))];
    for (const job of jobs) repeater.add(job);
    expect(time.pendingTimers).toBe(1);
    await time.advance(10_000);
    expect(jobs.map(({ at }) => at)).toEqual([
      [100, 200, 400],
      [100, 1_100, 2_100],
    ]);
    expect(time.pendingTimers).toBe(0);
  });

  test('does not wait behind one that the store refuses for ever', async () => {
    const time = virtualTime();
    const repeater = new Repeater(time);
    repeater.add(told(time, () => 'fail'));
    await time.advance(20_000);
    const good = Array.from({ length: 50 }, () => told(time, () => undefined));
    for (const job of good) repeater.add(job);
    await time.advance(100);
    expect(new Set(good.flatMap(({ at }) => at))).toEqual(new Set([20_100]));
  });

  test('does not run over a store that is down: three failures, then a rest', async () => {
    const time = virtualTime();
    const repeater = new Repeater(time);
    const jobs = Array.from({ length: 1_000 }, () => told(time, () => 'fail'));
    for (const job of jobs) repeater.add(job);
    await time.advance(10_000);
    expect(jobs.flatMap(({ at }) => at).length).toBeLessThanOrEqual(30);
    for (const job of jobs) repeater.remove(job);
    expect(time.pendingTimers).toBe(0);
  });

  test('is told at once when it is added again, also while it is being told', async () => {
    const time = virtualTime();
    const repeater = new Repeater(time);
    const job = told(time, (n) => {
      if (n === 2) repeater.add(job, 5);
      return n < 3 ? 10_000 : undefined;
    });
    repeater.add(job);
    await time.advance(200);
    repeater.add(job, 0);
    await time.advance(1_000);
    expect(job.at).toEqual([100, 200, 205]);
    expect(time.pendingTimers).toBe(0);
    const once = told(time, (n) => {
      if (n === 1) repeater.add(once, 5);
      return undefined;
    });
    repeater.add(once, 0);
    await time.advance(1_000);
    expect(once.at).toEqual([1_200, 1_205]);
  });

  test('is dropped when there is no use in it any more, and the oldest when there are too many', async () => {
    const time = virtualTime({ settled: () => new Promise((wake) => setImmediate(wake)) });
    const repeater = new Repeater(time);
    const old = told(time, () => 'fail', 5_000);
    repeater.add(old);
    await time.advance(60_000);
    expect(Math.max(...old.at)).toBeLessThan(5_000);
    expect(time.pendingTimers).toBe(0);
    const jobs = Array.from({ length: 10_001 }, () => told(time, () => undefined));
    for (const job of jobs) repeater.add(job);
    await time.advance(100);
    const times = jobs.map(({ at }) => at.length);
    expect([times[0], Math.min(...times.slice(1)), Math.max(...times)]).toEqual([0, 1, 1]);
  });

  test('does not keep a process alive, but for ends whose lease still runs', async () => {
    const time = virtualTime();
    const unrefs: number[] = [];
    const effects = {
      ...time,
      setTimer: (wake: () => void, ms: number) =>
        Object.assign(time.setTimer(wake, ms) as object, { unref: () => unrefs.push(time.now().monoMs) }),
    };
    const repeater = new Repeater(effects);
    repeater.add({ ...told(time, () => 'fail'), holdsProcessUntilMs: 1_000 });
    await time.advance(700);
    expect(unrefs).toEqual([]);
    await time.advance(2_000);
    expect(unrefs.length).toBeGreaterThan(0);
    expect(Math.min(...unrefs)).toBeGreaterThanOrEqual(1_000);
  });
});
