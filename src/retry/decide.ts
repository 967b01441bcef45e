import type { Instant } from '../kernel/effects.ts';
import type { Failure, RefusalReason } from './failure.ts';
import type { Policy } from './policy.ts';
import type { RetryState } from '../kernel/retry-state.ts';
import { elapsedMs } from './state.ts';

/** Why no further attempt is made. */
export type StopReason =
  | RefusalReason
  | 'attempts'
  | 'schedule-ended'
  | 'wait-budget'
  | 'elapsed-budget'
  | 'hint-above-cap'
  | 'hint-exceeds-budget'
  | 'deadline'
  | 'shared-budget';

/** What to do after a failed attempt. Logs, span events, metrics and the visible retry event all come from this record. */
export type Decision =
  | {
      readonly kind: 'wait';
      readonly delayMs: number;
      /** What set the delay. */
      readonly from: 'schedule' | 'hint';
      /** True when the server asked for more than `policy.hint.maxMs` and was cut to it. */
      readonly hintClamped: boolean;
      readonly state: RetryState & { readonly dueAtMs: number };
    }
  | { readonly kind: 'stop'; readonly reason: StopReason; readonly state: RetryState };

/**
 * Decides what follows a failed attempt: a wait of so many milliseconds, or the end, with the reason. Pure: equal
 * inputs give equal answers, on any machine and after any restart. A wait that ends exactly at a limit is taken; one
 * that does not fit is never shortened, so there is no burst at the edge of a budget.
 *
 * `failure` is what a classifier made of the thrown value; `random` is one draw from [0, 1).
 */
export function decide(policy: Policy, state: RetryState, failure: Failure, now: Instant, random: number): Decision {
  const attempts = state.attempts + 1;
  const { dueAtMs: _ended, ...rest } = state;
  const ended: RetryState = { ...rest, attempts, firstFailedAtMs: state.firstFailedAtMs ?? now.wallMs };
  const stop = (reason: StopReason): Decision => ({ kind: 'stop', reason, state: ended });

  if (failure.verdict === 'fail') return stop(failure.reason ?? 'not-retryable');
  if (attempts >= policy.maxAttempts) return stop('attempts');
  const scheduled = policy.schedule.delayMs(state.attempts, { random, lastDelayMs: state.lastDelayMs });
  if (scheduled === undefined) return stop('schedule-ended');

  // A hint is a floor, never a short cut below the schedule.
  const asked = failure.hint?.afterMs ?? 0;
  const clamped = asked > policy.hint.maxMs;
  if (clamped && policy.hint.above === 'stop') return stop('hint-above-cap');
  const floor = Math.ceil(Math.min(asked, policy.hint.maxMs));
  const delayMs = Math.max(scheduled, floor);
  const from = floor > scheduled ? 'hint' : 'schedule';

  const waitedMs = state.waitedMs + delayMs;
  if (waitedMs > policy.maxWaitMs) return stop(from === 'hint' ? 'hint-exceeds-budget' : 'wait-budget');
  if (elapsedMs(state, now, policy.clock) + delayMs > policy.maxElapsedMs) {
    return stop(from === 'hint' ? 'hint-exceeds-budget' : 'elapsed-budget');
  }
  return {
    kind: 'wait',
    delayMs,
    from,
    hintClamped: clamped,
    state: { ...ended, waitedMs, lastDelayMs: delayMs, dueAtMs: now.wallMs + delayMs },
  };
}
