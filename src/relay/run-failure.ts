import type { Instant } from '../kernel/effects.ts';
import { HoldfastError } from '../kernel/error.ts';
import { decide } from '../retry/decide.ts';
import type { OutageState, RetryState } from '../kernel/retry-state.ts';
import type { Failure } from '../retry/failure.ts';
import type { Policy } from '../retry/policy.ts';
import { initialState, resume } from '../retry/state.ts';
import { isOutage } from './breaker.ts';
import { toDeliveryError } from './delivery-error.ts';
import { type HandlerDefinition, type OnDead, rulesOf, type RunRules } from './handler.ts';
import { retryHolds } from './lines.ts';
import type { LineChange } from './key-line.ts';
import { isPoison, noteFailure, waitForOutage } from './outage-wait.ts';
import type { RelayEvent } from './relay-event.ts';
import type { Delivery, DeliveryError, EndedTarget, Settlement } from './relay-store.ts';

/** What follows a failed attempt: what is written, how the key's line changes, and what is told. */
export interface FailurePlan {
  readonly settlement: Settlement;
  readonly change: LineChange;
  readonly event: Extract<RelayEvent, { kind: 'run-failed' }>;
}

/** A failed attempt as it is judged. `startedAt` is when the attempt began; `random` one draw from [0, 1). */
export interface FailedAttempt {
  readonly delivery: Delivery;
  /** The id of the dead letter that it may become. */
  readonly dlqId: string;
  readonly target: EndedTarget;
  readonly error: unknown;
  /** What the handler's classifier makes of the error, where it was asked before. */
  readonly failure?: Failure | undefined;
  /** The handler's own time limit ended it. Default false. */
  readonly isOwnTimeLimit?: boolean | undefined;
  /** Its breaker is not closed: how long the message is held back if this is an outage. */
  readonly heldMs?: number | undefined;
  /** Epoch time at which a message of the handler was last known to have succeeded. Default: never. */
  readonly succeededAtMs?: number | undefined;
  readonly startedAt: Instant;
  readonly now: Instant;
  readonly random: number;
}

/** The number of the attempt that comes now, and of the last one its policy allows; those that an outage ended have numbers too. */
export function attemptOf<Tx>(
  handler: HandlerDefinition<Tx>,
  { type, attempts, retry }: Pick<Delivery, 'type' | 'attempts' | 'retry'>,
): { readonly attempt: number; readonly maxAttempts: number } {
  const outages = retry?.outage?.failures ?? 0;
  return { attempt: attempts + outages + 1, maxAttempts: rulesOf(handler, type).policy.maxAttempts + outages };
}

/** Decides what follows a failed attempt of a handler. Pure. */
export function planFailure<Tx>(handler: HandlerDefinition<Tx>, failed: FailedAttempt): FailurePlan {
  const { delivery, dlqId, target, error, startedAt, now, random } = failed;
  const rules = rulesOf(handler, delivery.type);
  const failure = failed.failure ?? judge(rules, handler.name, error);
  const before = delivery.retry ? resume(delivery.retry, startedAt).state : initialState(startedAt);
  const special = policyFor(rules, error);
  const policy = special ?? rules.policy;
  const { maxOutageMs = 0 } = rules;
  const isOutageWait = special === undefined && maxOutageMs > 0 && isWaitedFor({ ...failed, failure }, before, policy);
  const outages = before.outage?.failures ?? 0;
  const attempt = delivery.attempts + outages + 1;
  const kept = toDeliveryError(error, failure);
  const about = {
    kind: 'run-failed' as const,
    handler: handler.name,
    delivery,
    attempt,
    maxAttempts: policy.maxAttempts + outages,
    durationMs: now.monoMs - startedAt.monoMs,
    failure,
    error: kept,
  };
  const retry = (state: RetryState, delayMs: number, attempts: number): FailurePlan => {
    const holds = retryHolds(handler.lines, delivery.key);
    return {
      settlement: { ...target, kind: 'retry', delayMs, holds, retry: state, attempts, error: kept },
      change: holds ? 'waits' : 'yields',
      event: { ...about, next: { kind: 'retry', delayMs, ...(isOutageWait && { outage: state.outage }) } },
    };
  };
  const dead = (reason: string, of: DeliveryError): FailurePlan => ({
    ...deadPlan(handler, delivery, target, attempt, of),
    event: { ...about, error: of, next: { kind: 'dead', reason, dlqId } },
  });
  if (isOutageWait) {
    const { delayMs, state } = waitForOutage(before, {
      policy,
      maxOutageMs,
      failure,
      now,
      random,
      heldMs: failed.heldMs,
    });
    if (delayMs !== undefined) return retry(state, delayMs, delivery.attempts);
    return dead('outage-budget', outageError(handler.name, delivery.id, state.outage, error));
  }
  const decision = decide(policy, noteFailure(before, now), failure, now, random);
  return decision.kind === 'wait'
    ? retry(decision.state, decision.delayMs, delivery.attempts + 1)
    : dead(decision.reason, kept);
}

/** Whether the message waits until an outage is over, at no attempt. */
function isWaitedFor(
  { failure, isOwnTimeLimit = false, succeededAtMs = -Infinity }: FailedAttempt & { readonly failure: Failure },
  before: RetryState,
  policy: Policy,
): boolean {
  if (failure.verdict === 'fail' || !isOutage(failure)) return false;
  // A server that asks for more than the policy waits for: its policy says to stop.
  if (policy.hint.above === 'stop' && (failure.hint?.afterMs ?? 0) > policy.hint.maxMs) return false;
  return !isPoison(before, failure, isOwnTimeLimit, succeededAtMs);
}

function outageError(handler: string, id: string, { failures, spentMs }: OutageState, cause: unknown): DeliveryError {
  const error = new HoldfastError('OUTAGE_TOO_LONG', { handler, id, failures, waitedMs: spentMs }, { cause });
  return toDeliveryError(error, { verdict: 'fail', kind: 'terminal', code: 'OUTAGE_TOO_LONG' });
}

/** What is written for a delivery that is dead, and how its line changes. */
export function deadPlan<Tx>(
  handler: HandlerDefinition<Tx>,
  delivery: Delivery,
  target: EndedTarget,
  attempts: number,
  error: DeliveryError,
): Pick<FailurePlan, 'settlement' | 'change'> {
  const holds = onDeadOf(rulesOf(handler, delivery.type), delivery) !== 'pass';
  return { settlement: { ...target, kind: 'dead', attempts, error, holds }, change: holds ? 'blocks' : 'passes' };
}

// One that throws must not take the relay down.
function policyFor({ policyOf }: RunRules, error: unknown): Policy | undefined {
  try {
    return policyOf?.(error);
  } catch {
    return undefined;
  }
}

// Who cannot say keeps the order.
function onDeadOf({ onDead }: RunRules, delivery: Delivery): OnDead {
  if (typeof onDead !== 'function') return onDead;
  try {
    return onDead(delivery);
  } catch {
    return 'block';
  }
}

/** What a failed run of a handler means. A classifier that throws must not take the relay down, nor keep the message for ever. */
export function judge({ classifier }: RunRules, name: string, error: unknown): Failure {
  try {
    return classifier(error);
  } catch (thrown) {
    const problem = thrown instanceof Error ? `threw ${thrown.name}` : 'threw';
    const code = new HoldfastError('CLASSIFIER_FAILED', { operation: name, problem }).code;
    return { verdict: 'retry', kind: 'unknown', code };
  }
}
