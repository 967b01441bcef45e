import { describe, expect, test } from 'vitest';
import { virtualTime } from './virtual-time.ts';

describe('virtualTime', () => {
  test('fires timers in order of time, then of setting', async () => {
    const time = virtualTime();
    const fired: string[] = [];
    time.setTimer(() => fired.push('late'), 20);
    time.setTimer(() => fired.push('first'), 10);
    time.setTimer(() => fired.push('second'), 10);
    await time.advance(19);
    expect(fired).toEqual(['first', 'second']);
    await time.advance(1);
    expect(fired).toEqual(['first', 'second', 'late']);
  });

  test('fires a timer that was set by another on the way', async () => {
    const time = virtualTime();
    const at: number[] = [];
    time.setTimer(() => void time.setTimer(() => at.push(time.now().monoMs), 5), 5);
    await time.advance(100);
    expect(at).toEqual([10]);
  });

  test('says so when a promise waits for something else', async () => {
    await expect(virtualTime().settle(new Promise(() => undefined))).rejects.toThrow('something other than time');
  });

  test('suspend moves the wall clock only', () => {
    const time = virtualTime({ wallMs: 100 });
    time.suspend(50);
    expect(time.now()).toEqual({ wallMs: 150, monoMs: 0 });
  });

  test('refuses a timer that the real one would misread', () => {
    const time = virtualTime();
    for (const ms of [2 ** 31, -1, Number.NaN]) expect(() => time.setTimer(() => undefined, ms)).toThrow(RangeError);
  });

  test('a cleared timer never fires', async () => {
    const time = virtualTime();
    let fired = false;
    time.clearTimer(time.setTimer(() => (fired = true), 1));
    await time.advance(10);
    expect(fired).toBe(false);
    expect(time.pendingTimers).toBe(0);
  });
});
