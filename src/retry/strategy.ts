import type { Effects } from '../kernel/effects.ts';
import { createSleep } from '../kernel/sleep.ts';
import { systemEffects } from '../system/effects.ts';
import { decide } from './decide.ts';
import { type Policy, type PolicyOptions, toPolicy } from './policy.ts';
import type { RetryState } from '../kernel/retry-state.ts';
import { initialState } from './state.ts';

/** The two things a stream needs to retry: a pure schedule and an injected sleep. */
export interface RetryStrategy {
  /** The delay before retry number `attempt` (0 is the first retry), or `undefined` to stop: the budget is spent. */
  readonly delayFor: (attempt: number) => number | undefined;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
}

/**
 * A policy as a strategy. `delayFor` is a pure function of the index for every policy without jitter and without
 * `maxElapsedMs`; with `maxElapsedMs` it counts from when the strategy was made, so make one for each turn.
 */
export function retryStrategy(from: Policy | PolicyOptions, effects: Effects = systemEffects): RetryStrategy {
  const policy = toPolicy(from);
  const start = effects.now();
  return {
    sleep: createSleep(effects, policy.clock),
    delayFor(attempt) {
      if (!Number.isInteger(attempt) || attempt < 0) return undefined;
      let state: RetryState = initialState(start);
      for (let i = 0; ; i++) {
        // Earlier waits are replayed with their longest delays; only the asked-for one is drawn and held against the clock.
        const last = i === attempt;
        const decision = decide(
          policy,
          state,
          { verdict: 'retry', kind: 'unknown' },
          last ? effects.now() : start,
          last ? effects.random() : 1,
        );
        if (decision.kind === 'stop') return undefined;
        if (last) return decision.delayMs;
        state = decision.state;
      }
    },
  };
}
