import type { OptionProblem } from '../kernel/check-options.ts';
import { HoldfastError } from '../kernel/error.ts';
import type { Effects } from '../kernel/effects.ts';
import { createSleep } from '../kernel/sleep.ts';
import { decide, type StopReason } from '../retry/decide.ts';
import type { Failure } from '../retry/failure.ts';
import type { Policy } from '../retry/policy.ts';
import { initialState } from '../retry/state.ts';
import type { RetryStrategy } from '../retry/strategy.ts';

/** The answer to a failure before content: a wait, or why there is none. */
export type WaitDecision =
  | {
      readonly kind: 'wait';
      readonly delayMs: number;
      readonly from: 'schedule' | 'hint';
      readonly hintClamped: boolean;
      /** All waiting scheduled before this wait. */
      readonly waitedMs: number;
    }
  | { readonly kind: 'stop'; readonly reason: StopReason; readonly waitedMs: number };

/** The waits of one stream, in order. */
export interface WaitPlan {
  /** `Infinity` when another limit ends the retries. */
  readonly maxAttempts: number;
  readonly sleep: RetryStrategy['sleep'];
  /** `error` is what the failure was read from; it is kept when the strategy cannot answer. */
  next(failure: Failure, error: unknown): WaitDecision;
}

/** Takes the schedule as it is: `delayFor(n)` once for each failure, and nothing but its answer counts. */
export function strategyPlan(strategy: RetryStrategy): WaitPlan {
  let retried = 0;
  let waitedMs = 0;
  return {
    maxAttempts: Infinity,
    sleep: (ms, signal) => strategy.sleep(ms, signal),
    next(failure, error) {
      if (failure.verdict === 'fail') return { kind: 'stop', reason: failure.reason ?? 'not-retryable', waitedMs };
      const delayMs = delayFrom(strategy, retried, error);
      if (delayMs === undefined) return { kind: 'stop', reason: 'schedule-ended', waitedMs };
      const decision = { kind: 'wait', delayMs, from: 'schedule', hintClamped: false, waitedMs } as const;
      retried += 1;
      waitedMs += delayMs;
      return decision;
    },
  };
}

/** Follows a policy in full: besides its schedule also the server's hints and both budgets, counted from now. */
export function policyPlan(policy: Policy, effects: Effects): WaitPlan {
  let state = initialState(effects.now());
  return {
    maxAttempts: policy.maxAttempts,
    sleep: createSleep(effects, policy.clock),
    next(failure) {
      const { waitedMs } = state;
      const decision = decide(policy, state, failure, effects.now(), effects.random());
      state = decision.state;
      if (decision.kind === 'stop') return { kind: 'stop', reason: decision.reason, waitedMs };
      const { delayMs, from, hintClamped } = decision;
      return { kind: 'wait', delayMs, from, hintClamped, waitedMs };
    },
  };
}

function delayFrom(strategy: RetryStrategy, retried: number, error: unknown): number | undefined {
  const option = `retry.delayFor(${retried})`;
  const write = 'give milliseconds from 0, or undefined to stop';
  let delayMs: number | undefined;
  try {
    delayMs = strategy.delayFor(retried);
  } catch (thrown) {
    throw brokenStrategy({ option, found: 'a function that threw', write }, new AggregateError([thrown, error]));
  }
  if (delayMs === undefined || (Number.isFinite(delayMs) && delayMs >= 0)) return delayMs;
  throw brokenStrategy({ option, found: String(delayMs), write }, error);
}

/** What ends the stream when the wait itself failed: `cause.errors` holds what the sleep threw and the provider's failure. */
export function brokenSleep(thrown: unknown, error: unknown): HoldfastError {
  const write = 'let it fulfil after the delay, and reject only when its signal is aborted';
  const problem = { option: 'retry.sleep', found: 'a function that failed', write };
  return brokenStrategy(problem, new AggregateError([thrown, error]));
}

/** A strategy that does not do its part must not cost the reader the failure it was asked about. */
function brokenStrategy(problem: OptionProblem, cause: unknown): HoldfastError {
  return new HoldfastError('INVALID_OPTIONS', { of: 'retryStream()', problems: [problem] }, { cause });
}
