import { describe, expect, test } from 'vitest';
import { policy } from '../retry/policy.ts';
import { constant } from '../retry/schedule.ts';
import { forecastDelivery, type PlanFacts } from './forecast.ts';

const at = new Date('2026-01-02T03:04:05Z');
const ready: PlanFacts = {
  id: 'm:1',
  service: 'mail',
  handler: 'welcome',
  status: 'ready',
  attempts: 0,
  dueAt: undefined,
  retry: undefined,
};

/** Seconds from now, for each attempt: earliest and latest. */
function secondsOf({ attempts }: ReturnType<typeof forecastDelivery>): unknown[] {
  const seconds = (time: Date | undefined): number | undefined => time && (time.getTime() - at.getTime()) / 1000;
  return attempts.map(({ attempt, earliest, latest }) => [attempt, seconds(earliest), seconds(latest)]);
}

describe('a forecast', () => {
  test('of a fresh delivery has all attempts of the default policy, between no wait and the longest [X.6]', () => {
    const forecast = forecastDelivery(ready, undefined, at);
    expect(secondsOf(forecast)).toEqual([
      [1, 0, 0],
      [2, 0, 1],
      [3, 0, 3],
      [4, 0, 7],
      [5, 0, 15],
    ]);
    expect(forecast.end).toBe('attempts');
  });

  test('of a waiting one begins at its due time and counts what was spent [X.6]', () => {
    const retry = {
      v: 1,
      attempts: 3,
      waitedMs: 7_000,
      lastDelayMs: 4_000,
      startedAt: { wallMs: 0, monoMs: 0 },
    } as const;
    const dueAt = new Date(at.getTime() + 30_000);
    const forecast = forecastDelivery({ ...ready, status: 'waiting', attempts: 3, retry, dueAt }, undefined, at);
    expect(secondsOf(forecast)).toEqual([
      [4, 30, 30],
      [5, 30, 38],
    ]);
  });

  test('of one that is overdue begins now', () => {
    const dueAt = new Date(at.getTime() - 30_000);
    expect(secondsOf(forecastDelivery({ ...ready, status: 'waiting', dueAt }, undefined, at))[0]).toEqual([1, 0, 0]);
  });

  test('follows the policy of its handler; where a budget may end it first, no latest time is given [X.6]', () => {
    const asked: unknown[] = [];
    const own = policy({ schedule: constant(10_000), maxAttempts: 3 });
    const forecast = forecastDelivery(ready, (handler) => (asked.push(handler), own), at);
    expect(asked).toEqual([{ service: 'mail', name: 'welcome' }]);
    expect(secondsOf(forecast)).toEqual([
      [1, 0, 0],
      [2, 10, 10],
      [3, 20, 20],
    ]);
    const tight = policy({ maxWaitMs: 2_000, baseDelayMs: 1_000, maxAttempts: 4 });
    expect(secondsOf(forecastDelivery(ready, () => tight, at))).toEqual([
      [1, 0, 0],
      [2, 0, 1],
      [3, 0, undefined],
      [4, 0, undefined],
    ]);
  });

  test('counts elapsed time from the start of the first attempt, by the wall clock', () => {
    const startedAt = { wallMs: at.getTime() - 50_000, monoMs: 12 };
    const retry = { v: 1, attempts: 1, waitedMs: 0, lastDelayMs: 0, startedAt } as const;
    const hour = policy({ schedule: constant(20_000), maxElapsedMs: 60_000 });
    const forecast = forecastDelivery({ ...ready, status: 'waiting', attempts: 1, retry }, () => hour, at);
    expect(secondsOf(forecast)).toEqual([[2, 0, 0]]);
    expect(forecast.end).toBe('elapsed-budget');
  });

  test('of an endless policy ends after a thousand attempts, and says so', () => {
    const endless = policy({ schedule: constant(1_000), maxAttempts: Infinity });
    const forecast = forecastDelivery(ready, () => endless, at);
    expect(forecast.attempts).toHaveLength(1_000);
    expect(forecast.end).toBe('endless');
  });

  test.each(['failed', 'delivered', 'discarded', 'cancelled'] as const)('of one that is %s is empty', (status) => {
    expect(forecastDelivery({ ...ready, status }, undefined, at)).toMatchObject({ attempts: [], end: 'not-open' });
  });
});
