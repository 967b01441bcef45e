import { OptionCheck } from '../kernel/check-options.ts';
import type { Effects } from '../kernel/effects.ts';
import type { LogFields, Logger } from '../kernel/log.ts';
import { systemEffects } from '../system/effects.ts';
import type { RetryBudget } from './budget.ts';
import type { Classify } from './failure.ts';
import { allObservers } from './all-observers.ts';
import { serviceCall } from './policies.ts';
import { type Policy, type PolicyOptions, toPolicy } from './policy.ts';
import type { RetryObserver } from './retry-event.ts';
import type { RetryState } from './state.ts';

/** What `withRetry` takes. Every field may be left out. */
export interface RetryOptions {
  /** Default: the service-call policy (3 attempts, 250 ms to 5 s with full jitter, 10 s per attempt). */
  readonly policy?: Policy | PolicyOptions;
  /** Handed to the function on every attempt and written to every log line. */
  readonly idempotencyKey?: string;
  /** Asked first about each failure; `undefined` leaves the answer to the default. */
  readonly classify?: Classify;
  /** Written to every log line. */
  readonly logFields?: LogFields;
  /** Ends the operation: the running attempt is aborted, a wait ends at once, and the promise rejects with its reason. */
  readonly signal?: AbortSignal;
  /** Epoch time (or `Date`) by which all must be over: no wait may end later, and a running attempt is aborted then. */
  readonly deadlineAt?: number | Date;
  /** Shared with other calls to the same dependency; see `retryBudget`. */
  readonly budget?: RetryBudget;
  /** One line for each attempt, wait and stop. Default: none. */
  readonly logger?: Logger;
  readonly observe?: RetryObserver;
  /** Goes on where an operation stood: `error.details.state` of `RETRY_STOPPED`, or the state of a kept decision. */
  readonly resumeFrom?: RetryState;
  /** Clock, timers and chance; for tests. */
  readonly effects?: Effects;
}

const FIELDS: readonly (keyof RetryOptions)[] = [
  'policy',
  'idempotencyKey',
  'classify',
  'logFields',
  'signal',
  'deadlineAt',
  'budget',
  'logger',
  'observe',
  'resumeFrom',
  'effects',
];

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
  /** False when no timeout, no signal and no deadline can end an attempt. */
  readonly isBounded: boolean;
  /** Absent when nobody listens, so that nothing is made for nobody. */
  readonly emit: RetryObserver | undefined;
}

const NO_OPTIONS: RetryOptions = {};

/** Checks the options of one call; throws `INVALID_OPTIONS` with everything that is wrong. */
export function planRetry(operation: string, fn: unknown, options: RetryOptions = NO_OPTIONS): RetryPlan {
  checkCall(operation, fn, options);
  const policy = options.policy === undefined ? serviceCall : toPolicy(options.policy);
  return {
    policy,
    isBounded: policy.timeoutMs !== Infinity || options.signal !== undefined || options.deadlineAt !== undefined,
    effects: options.effects ?? systemEffects,
    idempotencyKey: options.idempotencyKey,
    classify: options.classify,
    signal: options.signal,
    deadlineAtMs: options.deadlineAt === undefined ? Infinity : Number(options.deadlineAt),
    budget: options.budget,
    resumeFrom: options.resumeFrom,
    emit: allObservers(options),
  };
}

function checkCall(operation: string, fn: unknown, options: RetryOptions): void {
  // The common call is checked without allocating; the collector is made only for the caller who needs its answer.
  const { idempotencyKey, deadlineAt, signal } = options;
  const fine =
    typeof operation === 'string' &&
    operation !== '' &&
    typeof fn === 'function' &&
    hasOnlyKnown(options) &&
    (idempotencyKey === undefined || (typeof idempotencyKey === 'string' && idempotencyKey !== '')) &&
    (deadlineAt === undefined || Number.isFinite(Number(deadlineAt))) &&
    (signal === undefined || isSignal(signal)) &&
    (options.classify === undefined || typeof options.classify === 'function') &&
    (options.observe === undefined || typeof options.observe === 'function');
  if (!fine) refuseCall(operation, fn, options);
}

function refuseCall(operation: string, fn: unknown, options: RetryOptions): never {
  const check = new OptionCheck('withRetry()');
  const { idempotencyKey, deadlineAt, signal } = options;
  if (typeof operation !== 'string' || operation === '')
    check.refuse('operation', operation, "name the operation, for example 'charge-card'");
  if (typeof fn !== 'function') check.refuse('fn', fn, 'pass a function of ({ signal, attempt })');
  check.known(options, FIELDS);
  if (idempotencyKey !== undefined && (typeof idempotencyKey !== 'string' || idempotencyKey === '')) {
    check.refuse('idempotencyKey', idempotencyKey, 'write a non-empty string, or leave it out');
  }
  if (deadlineAt !== undefined && !Number.isFinite(Number(deadlineAt))) {
    check.refuse('deadlineAt', Number(deadlineAt), 'write a Date or epoch milliseconds');
  }
  if (signal !== undefined && !isSignal(signal)) check.refuse('signal', signal, 'pass an AbortSignal');
  for (const name of ['classify', 'observe'] as const) {
    if (options[name] !== undefined && typeof options[name] !== 'function')
      check.refuse(name, options[name], 'pass a function');
  }
  check.done();
  throw new TypeError('unreachable: the options were refused without a problem');
}

function hasOnlyKnown(options: RetryOptions): boolean {
  for (const field in options) if (!FIELDS.includes(field as keyof RetryOptions)) return false;
  return true;
}

function isSignal(value: unknown): boolean {
  return (
    typeof (value as AbortSignal | null)?.aborted === 'boolean' &&
    typeof (value as AbortSignal).addEventListener === 'function'
  );
}
