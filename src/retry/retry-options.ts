import { OptionCheck } from '../kernel/check-options.ts';
import type { Effects } from '../kernel/effects.ts';
import type { LogFields, Logger } from '../kernel/log.ts';
import type { RetryState } from '../kernel/retry-state.ts';
import { systemEffects } from '../system/effects.ts';
import { allObservers } from './all-observers.ts';
import type { RetryBudget } from './budget.ts';
import { checkPolicy } from './check-policy.ts';
import type { Classify } from './failure.ts';
import { isInsideHandler } from './handler-scope.ts';
import { nestedCall, serviceCall } from './policies.ts';
import { type Policy, POLICY_FIELDS, type PolicyOptions, toPolicy } from './policy.ts';
import type { RetryObserver } from './retry-event.ts';

/** What `withRetry` takes. Every field may be left out. */
export interface RetryOptions {
  /**
   * Default: the service-call policy (3 attempts, 250 ms to 5 s with full jitter, 10 s per attempt). Inside a handler one attempt of 10 s:
   * the message's own attempts are the retries. A policy given here, or to the client, is kept there too.
   */
  readonly policy?: Policy | PolicyOptions | undefined;
  /** Handed to the function on every attempt and written to every log line. */
  readonly idempotencyKey?: string | undefined;
  /** Asked first about each failure; `undefined` leaves the answer to the default. */
  readonly classify?: Classify | undefined;
  /** Written to every log line. */
  readonly logFields?: LogFields | undefined;
  /** Ends the operation: the running attempt is aborted, a wait ends at once, and the promise rejects with its reason. */
  readonly signal?: AbortSignal | undefined;
  /** Epoch time (or `Date`) by which all must be over: no wait may end later, and a running attempt is aborted then. */
  readonly deadlineAt?: number | Date | undefined;
  /** Shared with other calls to the same dependency; see `retryBudget`. */
  readonly budget?: RetryBudget | undefined;
  /** One line for each attempt, wait and stop. Default: none. */
  readonly logger?: Logger | undefined;
  readonly observe?: RetryObserver | undefined;
  /** Goes on where an operation stood: `error.details.state` of `RETRY_STOPPED`, or the state of a kept decision. */
  readonly resumeFrom?: RetryState | undefined;
  /** Clock, timers and chance; for tests. */
  readonly effects?: Effects | undefined;
}

/** Checked options with the defaults filled in. */
export interface RetryPlan {
  readonly policy: Policy;
  readonly effects: Effects;
  readonly idempotencyKey: string | undefined;
  readonly classify: Classify | undefined;
  readonly signal: AbortSignal | undefined;
  readonly deadlineAtMs: number;
  readonly budget: RetryBudget | undefined;
  readonly resumeFrom: RetryState | undefined;
  /** False when no timeout, no signal, no elapsed budget and no deadline can end an attempt. */
  readonly isBounded: boolean;
  /** Absent when nobody listens, so that nothing is made for nobody. */
  readonly emit: RetryObserver | undefined;
}

interface Rule {
  readonly fits: (value: unknown) => boolean;
  readonly write: string;
}

const hasMethods =
  (...names: readonly string[]) =>
  (value: unknown): boolean =>
    typeof value === 'object' &&
    value !== null &&
    names.every((name) => typeof Reflect.get(value, name) === 'function');
const isFunction = (value: unknown): boolean => typeof value === 'function';
const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null;

const RULES: { readonly [F in keyof RetryOptions]-?: Rule } = {
  policy: { fits: isObject, write: 'pass a policy, or its fields: { maxAttempts: 5 }' },
  idempotencyKey: {
    fits: (value) => typeof value === 'string' && value !== '',
    write: 'write a non-empty string, or leave it out',
  },
  classify: { fits: isFunction, write: 'pass a function' },
  logFields: { fits: isObject, write: 'pass an object, for example { userId }' },
  signal: {
    fits: (value) => hasMethods('addEventListener')(value) && typeof (value as AbortSignal).aborted === 'boolean',
    write: 'pass an AbortSignal',
  },
  deadlineAt: {
    // Who writes 5000 means five seconds from now, not five seconds into 1970.
    fits: (value) => Number.isFinite(Number(value)) && Number(value) > 100_000_000_000,
    write: 'write a Date or epoch milliseconds, for example Date.now() + 5_000',
  },
  budget: { fits: hasMethods('deposit', 'withdraw', 'refund'), write: 'pass what retryBudget() gives' },
  logger: {
    fits: hasMethods('debug', 'info', 'warn', 'error'),
    write: 'pass a logger with debug, info, warn and error',
  },
  observe: { fits: isFunction, write: 'pass a function' },
  resumeFrom: { fits: isState, write: 'pass the state of a decision, or error.details.state, as it was kept' },
  effects: { fits: hasMethods('now', 'monoMs', 'random', 'setTimer', 'clearTimer'), write: 'pass virtualTime()' },
};

const NO_OPTIONS: RetryOptions = {};

/** Checks the options of one call; throws `INVALID_OPTIONS` with everything that is wrong. */
export function planRetry(operation: string, fn: unknown, options: RetryOptions = NO_OPTIONS): RetryPlan {
  const fine = typeof operation === 'string' && operation !== '' && typeof fn === 'function' && optionsFit(options);
  if (!fine) checkCall(operation, fn, options);
  const policy = options.policy === undefined ? defaultPolicy() : policyOf(operation, fn, options);
  const { signal, deadlineAt, resumeFrom } = options;
  if (resumeFrom) checkLeft(resumeFrom, policy);
  return {
    policy,
    isBounded:
      policy.timeoutMs !== Infinity ||
      signal !== undefined ||
      deadlineAt !== undefined ||
      policy.maxElapsedMs !== Infinity,
    effects: options.effects ?? systemEffects,
    idempotencyKey: options.idempotencyKey,
    classify: options.classify,
    signal,
    deadlineAtMs: deadlineAt === undefined ? Infinity : Number(deadlineAt),
    budget: options.budget,
    resumeFrom,
    emit: allObservers(options),
  };
}

/** What a call is tried by that says nothing: one attempt inside a handler, or three there would be fifteen for a message. */
export function defaultPolicy(): Policy {
  return isInsideHandler() ? nestedCall : serviceCall;
}

/** Refuses options that could never work, before any call is made with them. */
export function checkRetryOptions(of: string, options: RetryOptions): void {
  const check = new OptionCheck(of);
  nameProblems(check, options);
  check.done();
}

/** Looks only at the fields that are there: a call with one option pays for one check. */
function optionsFit(options: RetryOptions): boolean {
  if (typeof options !== 'object' || options === null) return false;
  for (const field in options) {
    const value = options[field as keyof RetryOptions];
    const rule: Rule | undefined = RULES[field as keyof RetryOptions];
    if (rule === undefined || (value !== undefined && !rule.fits(value))) return false;
  }
  return true;
}

function policyOf(operation: string, fn: unknown, options: RetryOptions): Policy {
  try {
    return toPolicy(options.policy ?? serviceCall);
  } catch (error) {
    checkCall(operation, fn, options);
    throw error;
  }
}

/** The slow look, taken when the quick one found something: names every problem, or finds none (an inherited field). */
function checkCall(operation: string, fn: unknown, options: RetryOptions): void {
  const check = new OptionCheck('withRetry()');
  if (typeof operation !== 'string' || operation === '') {
    check.refuse('operation', operation, "name the operation, for example 'charge-card'");
  }
  if (typeof fn !== 'function') check.refuse('fn', fn, 'pass a function of ({ signal, attempt })');
  nameProblems(check, options);
  check.done();
}

function nameProblems(check: OptionCheck, options: RetryOptions): void {
  if (!check.object('options', options, 'pass an object, or leave it out')) return;
  const misplaced = Object.keys(options).filter((field) => POLICY_FIELDS.includes(field));
  for (const field of misplaced) {
    check.add({
      option: field,
      found: 'not an option here',
      write: `put it into the policy: { policy: { ${field}: … } }`,
    });
  }
  check.known(options, [...Object.keys(RULES), ...misplaced]);
  for (const [field, { fits, write }] of Object.entries(RULES)) {
    const value: unknown = options[field as keyof RetryOptions];
    if (value !== undefined && !fits(value)) check.refuse(field, value, write);
  }
  if (isObject(options.policy)) checkPolicy(check, 'policy', options.policy);
}

/** One more attempt than the policy allows would be made in silence otherwise. */
function checkLeft({ attempts }: RetryState, { maxAttempts }: Policy): void {
  if (attempts < maxAttempts) return;
  const check = new OptionCheck('withRetry()');
  check.refuse('resumeFrom.attempts', attempts, `raise policy.maxAttempts, which is ${maxAttempts}, above it`);
  check.done();
}

/** Kept states come from rows and messages: hands reach into those. */
function isState(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { v, attempts, waitedMs, lastDelayMs, startedAt, dueAtMs } = value as Partial<RetryState>;
  const counts = [attempts, waitedMs, lastDelayMs].every((n) => Number.isInteger(n) && Number(n) >= 0);
  const times = [startedAt?.wallMs, startedAt?.monoMs, dueAtMs ?? 0].every((n) => Number.isFinite(n));
  return v === 1 && counts && times;
}
