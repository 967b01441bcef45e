import { memoryIdempotency } from '../../src/idempotency/index.ts';
import { type IdempotencyHarness, virtualTime } from '../../src/testing/index.ts';

/** The store in memory, with a clock that the cases move. */
export function memoryHarness(): IdempotencyHarness {
  // Nothing waits for this clock.
  const time = virtualTime({ settled: () => Promise.resolve() });
  return { store: memoryIdempotency({ effects: time }), elapse: (ms) => time.advance(ms) };
}
