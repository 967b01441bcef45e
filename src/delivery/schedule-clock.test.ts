import { describe, expect, test } from 'vitest';

import { virtualTime } from '../testing/virtual-time.ts';
import { ScheduleClock } from './schedule-clock.ts';

/** Schedules whose one time is a minute after the last one. */
function everyMinute(time: ReturnType<typeof virtualTime>): {
  readonly looks: number[];
  readonly fail: (error: Error) => void;
  readonly change: () => void;
  readonly schedules: ConstructorParameters<typeof ScheduleClock>[0]['schedules'];
  readonly listeners: Set<() => void>;
} {
  const looks: number[] = [];
  const errors: Error[] = [];
  const listeners = new Set<() => void>();
  const begun = time.now().wallMs;
  return {
    looks,
    listeners,
    fail: (error) => void errors.push(error),
    change: () => listeners.forEach((listener) => listener()),
    schedules: {
      fire: async (now) => {
        looks.push(now.getTime() - begun);
        const error = errors.shift();
        if (error) throw error;
        return { fired: 0, nextAt: new Date(Math.floor(now.getTime() / 60_000 + 1) * 60_000) };
      },
      onChange: (listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
  };
}

describe('the clock of schedules', () => {
  test('The clock of schedules looks at the next time, and at least every few seconds [X.8]', async () => {
    const time = virtualTime();
    await time.advance(53_000);
    const { looks, schedules } = everyMinute(time);
    const clock = new ScheduleClock({ schedules, effects: time });
    clock.start();
    clock.start();
    await time.advance(7_000);
    expect(looks).toEqual([0, 5_000, 7_000]);
    await clock.stop();
    await clock.stop();
    expect(time.pendingTimers).toBe(0);
    await time.advance(60_000);
    expect(looks).toHaveLength(3);
  });

  test('The clock of schedules looks at once when one is changed, also while it looks, and after an error [X.8]', async () => {
    const time = virtualTime();
    const { looks, schedules, change, fail, listeners } = everyMinute(time);
    const told: unknown[] = [];
    const clock = new ScheduleClock({ schedules, effects: time, onError: (error) => told.push(error) });
    clock.look();
    expect(looks).toEqual([]);
    clock.start();
    change();
    await time.advance(1_000);
    change();
    await time.advance(1_000);
    expect(looks).toEqual([0, 0, 1_000]);
    fail(new Error('away'));
    await time.advance(10_000);
    expect(told).toHaveLength(1);
    expect(looks).toEqual([0, 0, 1_000, 6_000, 11_000]);
    await clock.stop();
    expect(listeners.size).toBe(0);
    // Somebody sets the wall clock while it waits: it is looked at again soon.
    clock.start();
    time.jumpWall(3_600_000);
    await time.advance(5_000);
    expect(looks.at(-1)).toBe(3_600_000 + 17_000);
    await clock.stop();
  });
});
