import { getEventListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import { virtualTime } from '../testing/virtual-time.ts';
import { createSleep } from './sleep.ts';

const HOUR = 3_600_000;

async function isPending(promise: Promise<unknown>): Promise<boolean> {
  const pending = Symbol('pending');
  return (await Promise.race([promise, Promise.resolve(pending)])) === pending;
}

describe('sleep', () => {
  test('waits its time, in slices no timer can misread [F.5]', async () => {
    const time = virtualTime();
    const sleeping = createSleep(time)(30 * 24 * HOUR, new AbortController().signal);
    await time.advance(30 * 24 * HOUR - 1);
    expect(await isPending(sleeping)).toBe(true);
    expect(time.pendingTimers).toBe(1);
    await time.advance(1);
    await sleeping;
    expect(time.pendingTimers).toBe(0);
  });

  test('rejects with the very reason of the abort, in the same tick, and leaves nothing [F.9]', async () => {
    for (const reason of [new Error('stop'), 'a string', 42]) {
      const time = virtualTime();
      const caller = new AbortController();
      const sleeping = createSleep(time)(5_000, caller.signal);
      caller.abort(reason);
      expect(time.pendingTimers).toBe(0);
      await expect(sleeping).rejects.toBe(reason);
      expect(getEventListeners(caller.signal, 'abort')).toHaveLength(0);
    }
  });

  test('does not start when already aborted [F.8]', async () => {
    const time = virtualTime();
    await expect(createSleep(time)(5_000, AbortSignal.abort('no'))).rejects.toBe('no');
    expect(time.pendingTimers).toBe(0);
  });

  test('leaves no listener after it ended by itself [F.12]', async () => {
    const time = virtualTime();
    const caller = new AbortController();
    await time.settle(createSleep(time)(61_000, caller.signal));
    expect(getEventListeners(caller.signal, 'abort')).toHaveLength(0);
  });

  test('on the monotonic clock, a wall clock that jumps changes nothing [F.20]', async () => {
    for (const jump of [-HOUR, HOUR]) {
      const time = virtualTime();
      const sleeping = createSleep(time, 'monotonic')(30 * 60_000, new AbortController().signal);
      await time.advance(10 * 60_000);
      time.jumpWall(jump);
      await time.advance(20 * 60_000 - 1);
      expect(await isPending(sleeping)).toBe(true);
      await time.advance(1);
      await sleeping;
    }
  });

  test('on the wall clock, 20 minutes of suspend inside a 30-minute wait are part of it [F.20]', async () => {
    const time = virtualTime();
    const sleeping = createSleep(time, 'wall')(30 * 60_000, new AbortController().signal);
    await time.advance(5 * 60_000);
    time.suspend(20 * 60_000);
    await time.advance(4 * 60_000);
    expect(await isPending(sleeping)).toBe(true);
    await time.advance(60_000);
    await sleeping;
  });

  test('on the monotonic clock, suspend stretches the wait [F.20]', async () => {
    const time = virtualTime();
    const sleeping = createSleep(time, 'monotonic')(30 * 60_000, new AbortController().signal);
    time.suspend(20 * 60_000);
    await time.advance(29 * 60_000);
    expect(await isPending(sleeping)).toBe(true);
    await time.advance(60_000);
    await sleeping;
  });

  test('on the wall clock, a clock set back an hour cannot stretch the wait [F.20]', async () => {
    const time = virtualTime();
    const sleeping = createSleep(time, 'wall')(30 * 60_000, new AbortController().signal);
    time.jumpWall(-HOUR);
    await time.advance(30 * 60_000);
    expect(await isPending(sleeping)).toBe(false);
  });
});
