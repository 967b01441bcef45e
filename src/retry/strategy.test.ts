import { describe, expect, test } from 'vitest';
import { virtualTime } from '../testing/virtual-time.ts';
import { llmProvider, llmProviderElapsed } from './policies.ts';
import { retryStrategy } from './strategy.ts';

const HEAD = [5, 10, 30, 60, 300, 600, 900, 1_800].map((s) => s * 1_000);

describe('retryStrategy', () => {
  test('delayFor is a pure function of the index: 21 delays, then nothing [S2.1] [S2.4]', () => {
    const { delayFor } = retryStrategy(llmProvider, virtualTime());
    const delays = Array.from({ length: 25 }, (_, attempt) => delayFor(attempt));
    expect(delays).toEqual([
      ...HEAD,
      ...Array.from({ length: 13 }, () => 1_800_000),
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
    // Asked again and out of order, the answers are the same.
    expect([delayFor(20), delayFor(21), delayFor(0), delayFor(7)]).toEqual([1_800_000, undefined, 5_000, 1_800_000]);
  });

  test('an elapsed budget counts from when the strategy was made [S2.1]', async () => {
    const time = virtualTime();
    const { delayFor } = retryStrategy(llmProviderElapsed, time);
    expect(delayFor(8)).toBe(1_800_000);
    await time.advance(8 * 3_600_000 - 1_800_000);
    expect(delayFor(8)).toBe(1_800_000);
    await time.advance(1);
    expect(delayFor(8)).toBeUndefined();
  });

  test('an index that is none has no delay, also under a policy without end', () => {
    const { delayFor } = retryStrategy({ maxAttempts: Infinity }, virtualTime());
    expect([delayFor(-1), delayFor(0.5), delayFor(Number.NaN)]).toEqual([undefined, undefined, undefined]);
  });

  test('sleep is abortable [S2.4]', async () => {
    const caller = new AbortController();
    const sleeping = retryStrategy(llmProvider, virtualTime()).sleep(1_000, caller.signal);
    caller.abort('enough');
    await expect(sleeping).rejects.toBe('enough');
  });

  test('takes options in place of a policy', () => {
    const { delayFor } = retryStrategy({ maxAttempts: 3, baseDelayMs: 100, jitter: false }, virtualTime());
    expect([delayFor(0), delayFor(1), delayFor(2)]).toEqual([100, 200, undefined]);
  });
});
