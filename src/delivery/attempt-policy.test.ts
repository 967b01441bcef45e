import { expect, test } from 'vitest';
import { nextAttempt } from './attempt-policy.ts';
import type { SendRules } from './delivery-request.ts';

const rules = (change: Partial<SendRules> = {}): SendRules => ({ method: 'POST', retries: 3, ...change });

function waits(given: SendRules, more: { askedMs?: number; random?: number } = {}): (number | string)[] {
  return Array.from({ length: given.retries + 1 }, (_, i) => {
    const next = nextAttempt(given, { attempt: i + 1, random: 0.5, ...more });
    return next.kind === 'wait' ? next.delayMs : next.kind;
  });
}

test('deliveries are tried again after 12 s, 2 m 28 s, 30 m 8 s, 6 h 7 m, and then every day [X.8]', () => {
  expect(waits(rules({ retries: 6 }))).toEqual([
    12_183,
    148_414,
    1_808_043,
    22_026_466,
    86_400_000,
    86_400_000,
    'dead',
  ]);
  expect(waits(rules({ retries: 0 }))).toEqual(['dead']);
});

test('an expression counts from 0, and its result stays between nothing and a day [X.8]', () => {
  expect(waits(rules({ retryDelay: '1000 * pow(2, retried)' }))).toEqual([1_000, 2_000, 4_000, 'dead']);
  expect(waits(rules({ retryDelay: '0 - 5' }))).toEqual([0, 0, 0, 'dead']);
  expect(waits(rules({ retryDelay: 'pow(10, 300)', retries: 1 }))).toEqual([86_400_000, 'dead']);
});

test.each(['1 / 0', '-1 / 0', '0 / 0', 'sqrt(0-1)', 'pow(10, 400)', 'exp(1000)'])(
  'where an expression has no finite result the usual wait comes instead, and not a day: %s [X.8]',
  (retryDelay) => {
    expect(waits(rules({ retryDelay, retries: 2 }))).toEqual([12_183, 148_414, 'dead']);
  },
);

test('an expression that divides by zero at one retry waits by itself at all others [X.8]', () => {
  expect(waits(rules({ retryDelay: '1 / retried' }))).toEqual([12_183, 1, 1, 'dead']);
  expect(waits(rules({ retryDelay: '1000 / (2 - retried)', retries: 4 }))).toEqual([500, 1_000, 1_808_043, 0, 'dead']);
});

test('a table of seconds is spread by a fifth, and its last wait comes again [X.8]', () => {
  const table = rules({ retries: 3, retrySeconds: [5, 300] });
  expect(waits(table)).toEqual([5_000, 300_000, 300_000, 'dead']);
  expect(waits(table, { random: 0 })).toEqual([4_000, 240_000, 240_000, 'dead']);
});

test('what the destination asks for comes before the rules, also at once; what is final is not tried again [X.8]', () => {
  expect(waits(rules({ retryDelay: '5', retries: 1 }), { askedMs: 0 })).toEqual([0, 'dead']);
  expect(waits(rules({ retries: 1 }), { askedMs: 60_000 })).toEqual([60_000, 'dead']);
  expect(nextAttempt(rules(), { attempt: 1, isFinal: true, random: 0 })).toEqual({ kind: 'dead' });
});
