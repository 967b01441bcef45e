import { expect, test } from 'vitest';
import { OptionCheck } from '../kernel/check-options.ts';
import { checkRetryDelays, retryDelayOf } from './retry-delay.ts';

test('a copy waits by the round it died in; afterwards, and where trying again would not help, it stays [S1.7]', () => {
  const delayOf = (headers: Record<string, string>, isDead = true): number | undefined =>
    retryDelayOf({ isDead, headers }, [250, 500]);
  expect(['0', '1', '2', '17'].map((cycle) => delayOf({ 'dlq-cycle': cycle }))).toEqual([
    250,
    500,
    undefined,
    undefined,
  ]);
  expect(delayOf({ 'dlq-cycle': '0', 'dlq-final': 'true' })).toBeUndefined();
  // A dead letter of others, and a message that is none.
  expect(delayOf({})).toBeUndefined();
  expect(delayOf({ 'dlq-cycle': '0' }, false)).toBeUndefined();
});

test.each([[[0]], [[1.5]], [[86_400_001]], [['250']], [250], [Array.from({ length: 21 }, () => 250)]])(
  'what is no list of delays is refused: %j [S1.7]',
  (given) => {
    const check = new OptionCheck('rabbitmq()');
    checkRetryDelays(check, [1, 86_400_000]);
    checkRetryDelays(check, []);
    expect(() => check.done()).not.toThrow();
    checkRetryDelays(check, given);
    expect(() => check.done()).toThrow('retryDelaysMs');
  },
);
