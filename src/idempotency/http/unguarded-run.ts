import type { Idempotency } from '../idempotency.ts';
import type { RouteRun } from './http-run.ts';

/** The run of a request that is not guarded: `commit` is a plain transaction, and keys for others are good for this run only. */
export function unguardedRun<Tx, Reply>(idempotency: Idempotency<Tx>): RouteRun<Tx, Reply> {
  const { signal } = new AbortController();
  const seed = crypto.randomUUID();
  return {
    number: 1,
    signal,
    childKey: (step) => `${seed}:${step}`,
    commit: async (work) => idempotency.transaction(work),
  };
}
