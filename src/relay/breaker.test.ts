import { describe, expect, test } from 'vitest';
import { eventHandlerClassifier } from '../retry/classifier.ts';
import {
  type BreakerSettings,
  type BreakerState,
  CLOSED,
  counted,
  followed,
  isOutage,
  isTripped,
  probeWaitMs,
} from './breaker.ts';

const SETTINGS: BreakerSettings = {
  name: 'stripe',
  failures: 3,
  openAfterMs: 1_000,
  probeAfterMs: 1_000,
  maxProbeAfterMs: 8_000,
};

function judged(error: object): boolean {
  return isOutage(eventHandlerClassifier(Object.assign(new Error('no'), error)));
}

describe('what a breaker takes for an outage', () => {
  test('is a dependency that is away, slow, throttled or answers with 5xx [X.10]', () => {
    const outages = [
      { code: 'ECONNREFUSED' },
      { code: 'ENOTFOUND' },
      { code: 'ETIMEDOUT' },
      { status: 429 },
      { status: 500 },
      { status: 502 },
      { status: 503 },
      { status: 504 },
      { code: '57P01' },
    ];
    expect(outages.map(judged)).toEqual(outages.map(() => true));
  });

  test('is never what a message is to blame for, nor a bug [X.10]', () => {
    const own = [
      {},
      { status: 400 },
      { status: 404 },
      { status: 409 },
      { status: 501 },
      { code: '23505' },
      { code: '40001' },
      { code: 'TRANSACTION_RESTED' },
    ];
    expect(own.map(judged)).toEqual(own.map(() => false));
    expect(isOutage({ verdict: 'fail', kind: 'network' })).toBe(false);
    expect(isOutage({ verdict: 'fail', kind: 'network', reason: 'unsafe-replay' })).toBe(true);
  });
});

/** After failures at these times. */
function failedAt(...times: readonly number[]): BreakerState {
  return times.reduce((state: BreakerState, atMs) => counted(state, true, atMs), CLOSED);
}

describe('a closed breaker', () => {
  test('opens after enough failures in a row, of one message too, when nothing has succeeded for long enough [X.10]', () => {
    expect(isTripped(failedAt(0, 1_500), SETTINGS, 1_500)).toBe(false);
    expect(isTripped(failedAt(0, 10, 20, 30), SETTINGS, 30)).toBe(false);
    expect(isTripped(failedAt(0, 10, 1_000), SETTINGS, 1_000)).toBe(true);
    const between = counted(counted(failedAt(0, 10), false, 900), true, 1_000);
    expect(isTripped(counted(counted(between, true, 1_100), true, 1_999), SETTINGS, 1_999)).toBe(false);
    expect(isTripped(counted(counted(between, true, 1_100), true, 2_000), SETTINGS, 2_000)).toBe(true);
  });

  test('costs nothing for what goes well [X.10]', () => {
    expect(counted(CLOSED, false, 0)).toBe(CLOSED);
  });

  test('keeps its count where the database tells no news, and loses it where it was changed meanwhile [X.10]', () => {
    const state = failedAt(0);
    const sight = { name: 'stripe', state: 'closed', epoch: 0, probes: 0, isMine: false } as const;
    expect(followed(state, sight, 0)).toEqual(state);
    const open = followed(state, { ...sight, state: 'open', epoch: 2, probeInMs: 50 }, 100);
    expect(open).toEqual({ kind: 'open', epoch: 2, probes: 0, probeAtMs: 150 });
    expect(followed(open, { ...sight, epoch: 1 }, 100)).toBe(open);
    expect(followed(open, { ...sight, epoch: 3 }, 100)).toMatchObject({ kind: 'closed', failed: 0 });
  });
});

test('the wait of an open breaker doubles to its maximum, is jittered, and is never below what the dependency asked for [X.10]', () => {
  expect([0, 1, 2, 3, 4, 99].map((probes) => probeWaitMs(SETTINGS, probes, 0))).toEqual([
    1_000, 2_000, 4_000, 8_000, 8_000, 8_000,
  ]);
  expect(probeWaitMs(SETTINGS, 3, 0.999)).toBeGreaterThanOrEqual(6_400);
  // A probe that took long has waited already.
  expect(probeWaitMs(SETTINGS, 3, 0, { tookMs: 2_000 })).toBe(6_000);
  expect(probeWaitMs(SETTINGS, 0, 0, { tookMs: 60_000 })).toBe(0);
  expect(probeWaitMs(SETTINGS, 0, 0.5, { hintMs: 30_000 })).toBe(30_000);
  expect(probeWaitMs(SETTINGS, 0, 0.5, { hintMs: 1e12 })).toBe(3_600_000);
});
