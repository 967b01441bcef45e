import type { Instant } from '../kernel/effects.ts';
import type { OutageState, RetryState } from '../kernel/retry-state.ts';
import type { Failure } from '../retry/failure.ts';
import type { Policy } from '../retry/policy.ts';

/** A failure by an outage, as it is charged to a message. */
export interface OutageFailure {
  readonly policy: Policy;
  /** The handler's budget. */
  readonly maxOutageMs: number;
  readonly failure: Failure;
  readonly now: Instant;
  readonly random: number;
  /** Its breaker is not closed: the message is held back for this long, whatever the schedule says. */
  readonly heldMs: number | undefined;
}

/** What follows: a wait that costs no attempt, or the end of the budget. */
export interface OutagePlan {
  /** Undefined: the budget is spent. */
  readonly delayMs: number | undefined;
  readonly state: RetryState & { readonly outage: OutageState };
}

// A handler that was paused, or a service that was off for the weekend, did not try: of one wait no more than this is charged.
const MOST_CHARGED_MS = 3_600_000;
// What follows the last step of a schedule that ends.
const AFTER_SCHEDULE_MS = 60_000;
// While some calls succeed the breaker is closed, and nothing says when the outage is over. So a wait is at most a tenth of what the outage
// has lasted: a message that failed ten times in a minute waited for up to five more. As long as between two probes it may always be.
const WAIT_PART = 0.1;
const SHORT_WAIT_MS = 4_000;
// Whoever has failed so often has long been at the last step of a schedule that grows.
const MAX_STEP = 64;

/**
 * Decides what follows a failure by an outage: the message waits without spending an attempt, until the waiting adds up to the budget. A
 * wait that would not fit is not begun. It grows by the policy's schedule, within a tenth of what the outage has lasted. A policy's own time
 * limits (`maxWaitMs`, `maxElapsedMs`) limit the budget. Pure.
 */
export function waitForOutage(state: RetryState, about: OutageFailure): OutagePlan {
  const { policy, failure, now, heldMs } = about;
  const before = state.outage;
  const sinceLastMs = before ? Math.max(0, now.wallMs - before.lastAtMs) : 0;
  const maxMs = Math.min(about.maxOutageMs, policy.maxWaitMs, policy.maxElapsedMs);
  const outage = {
    failures: (before?.failures ?? 0) + 1,
    spentMs: (before?.spentMs ?? 0) + Math.min(sinceLastMs, MOST_CHARGED_MS),
    maxMs,
    firstAtMs: before?.firstAtMs ?? now.wallMs,
    lastAtMs: now.wallMs,
  };
  const lastedMs = Math.max(0, now.wallMs - outage.firstAtMs);
  const scheduled = boundedStep(state, about, Math.max(SHORT_WAIT_MS, lastedMs * WAIT_PART));
  const asked = Math.ceil(Math.min(failure.hint?.afterMs ?? 0, policy.hint.maxMs));
  const delayMs = Math.round(heldMs ?? Math.max(scheduled, asked));
  const { dueAtMs: _ended, ...rest } = state;
  const failed = { ...rest, firstFailedAtMs: state.firstFailedAtMs ?? now.wallMs, outage };
  if (outage.spentMs + delayMs > maxMs) return { delayMs: undefined, state: failed };
  return { delayMs, state: { ...failed, lastDelayMs: delayMs, dueAtMs: now.wallMs + delayMs } };
}

/** The delay of the step that is due, or of the last one before it that is within the bound. The first step is never shortened. */
function boundedStep(state: RetryState, { policy, random }: OutageFailure, boundMs: number): number {
  const draw = { random, lastDelayMs: state.lastDelayMs };
  const delayOf = (at: number): number => policy.schedule.delayMs(at, draw) ?? AFTER_SCHEDULE_MS;
  const failures = state.outage?.failures ?? 0;
  let delayMs = delayOf(failures);
  for (let at = Math.min(failures, MAX_STEP); delayMs > boundMs && at >= 0; at -= 1) delayMs = delayOf(at);
  return delayMs;
}

/** Notes a failure that spends an attempt although it looks like an outage: the next one is compared with this moment. */
export function noteFailure(state: RetryState, { wallMs }: Instant): RetryState {
  return state.outage ? { ...state, outage: { ...state.outage, lastAtMs: wallMs } } : state;
}

/**
 * Whether a failure that looks like an outage may be the message's own: a 500, or the handler's own time limit. It is taken for one once
 * another message has succeeded since this one failed last. A refused connection, a 503 or a 429 is never the message's own.
 */
export function isPoison(
  state: RetryState,
  { kind, status }: Failure,
  isOwnTimeLimit: boolean,
  succeededAtMs: number,
): boolean {
  const isDoubtful = isOwnTimeLimit || (kind === 'http' && status === 500);
  return isDoubtful && state.outage !== undefined && succeededAtMs > state.outage.lastAtMs;
}
