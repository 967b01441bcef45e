import type { IdempotencyStore } from '../../idempotency/idempotency-store.ts';

/** An idempotency store under test, empty. */
export interface IdempotencyHarness {
  readonly store: IdempotencyStore;
  /**
   * Lets so many milliseconds of the store's own time pass. Without it the store goes by a real clock: then leases and records are
   * short where they are to end, and are looked at until they have.
   */
  elapse?(ms: number): Promise<void>;
}

/** One promise of an idempotency store. `run` throws when it is not kept. */
export interface IdempotencyCase {
  /** A sentence that states the promise. */
  readonly name: string;
  run(harness: IdempotencyHarness): Promise<void>;
}
