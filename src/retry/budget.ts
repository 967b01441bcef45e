import { OptionCheck } from '../kernel/check-options.ts';
import type { Effects } from '../kernel/effects.ts';
import { systemEffects } from '../system/effects.ts';

/** Shared by all calls to one dependency, so that retries cannot multiply its outage. */
export interface RetryBudget {
  /** Called once for each operation, whatever becomes of it. */
  deposit(): void;
  /** Takes one retry out; `false` when there is none left, and then the operation stops with `shared-budget`. */
  withdraw(): boolean;
  /** Gives back a retry that was taken but never made. */
  refund(): void;
  /** Retries that could be made right now. */
  available(): number;
}

/**
 * A token bucket: each operation adds `ratio` of a retry (default 0.2: at most one retry for five calls), and `perSecond`
 * (default 10) trickle in by themselves so that a quiet client can still retry. Never more than `capacity` (default
 * 100) are kept. Make one for each dependency, not one for all: a shared bucket starves the healthy ones.
 */
export function retryBudget(
  options: { ratio?: number; perSecond?: number; capacity?: number; effects?: Effects } = {},
): RetryBudget {
  const { ratio = 0.2, perSecond = 10, capacity = 100, effects = systemEffects } = options;
  const check = new OptionCheck('retryBudget()');
  check.known(options, ['ratio', 'perSecond', 'capacity', 'effects']);
  check.number('ratio', ratio, {
    min: 0,
    max: 10,
    write: 'write a number from 0 to 10; 0.2 is one retry for five calls',
  });
  check.number('perSecond', perSecond, {
    min: 0,
    max: 1_000_000,
    write: 'write a number from 0; 10 lets a quiet client retry',
  });
  check.number('capacity', capacity, { min: 1, max: 1_000_000, write: 'write a number from 1' });
  check.done();

  let tokens = capacity;
  let readAt = effects.now().monoMs;
  // The cap is applied here, once, before anything is taken or shown.
  const refill = (): void => {
    const now = effects.now().monoMs;
    tokens = Math.min(capacity, tokens + (Math.max(0, now - readAt) / 1_000) * perSecond);
    readAt = now;
  };
  return {
    deposit() {
      tokens += ratio;
    },
    withdraw() {
      refill();
      // Ten deposits of 0.1 are one retry, whatever binary fractions make of them.
      if (tokens < 1 - 1e-9) return false;
      tokens = Math.max(0, tokens - 1);
      return true;
    },
    refund() {
      tokens += 1;
    },
    available() {
      refill();
      return Math.floor(tokens + 1e-9);
    },
  };
}
