import type { Instant } from '../kernel/effects.ts';
import { HoldfastError } from '../kernel/error.ts';
import { decide } from '../retry/decide.ts';
import type { Failure } from '../retry/failure.ts';
import type { Policy } from '../retry/policy.ts';
import { initialState, resume } from '../retry/state.ts';
import { toDeliveryError } from './delivery-error.ts';
import { type HandlerDefinition, type OnDead, rulesOf, type RunRules } from './handler.ts';
import { retryHolds } from './lines.ts';
import type { LineChange } from './key-line.ts';
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
  readonly target: EndedTarget;
  readonly error: unknown;
  readonly startedAt: Instant;
  readonly now: Instant;
  readonly random: number;
}

/** Decides what follows a failed attempt of a handler. Pure. */
export function planFailure<Tx>(handler: HandlerDefinition<Tx>, failed: FailedAttempt): FailurePlan {
  const { delivery, target, error, startedAt, now, random } = failed;
  const rules = rulesOf(handler, delivery.type);
  const failure = judge(rules, handler.name, error);
  const before = delivery.retry ? resume(delivery.retry, startedAt).state : initialState(startedAt);
  const policy = policyFor(rules, error);
  const decision = decide(policy, before, failure, now, random);
  const attempts = delivery.attempts + 1;
  const kept = toDeliveryError(error, failure);
  const about = {
    kind: 'run-failed' as const,
    handler: handler.name,
    delivery,
    attempt: attempts,
    maxAttempts: policy.maxAttempts,
    durationMs: now.monoMs - startedAt.monoMs,
    failure,
    error: kept,
  };
  if (decision.kind === 'wait') {
    const { delayMs, state: retry } = decision;
    const holds = retryHolds(handler.lines, delivery.key);
    return {
      settlement: { ...target, kind: 'retry', delayMs, holds, retry, attempts, error: kept },
      change: holds ? 'waits' : 'yields',
      event: { ...about, next: { kind: 'retry', delayMs } },
    };
  }
  return {
    ...deadPlan(handler, delivery, target, attempts, kept),
    event: { ...about, next: { kind: 'dead', reason: decision.reason } },
  };
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
function policyFor({ policy, policyOf }: RunRules, error: unknown): Policy {
  try {
    return policyOf?.(error) ?? policy;
  } catch {
    return policy;
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

// A classifier that throws must not take the relay down, nor the message for ever.
function judge({ classifier }: RunRules, name: string, error: unknown): Failure {
  try {
    return classifier(error);
  } catch (thrown) {
    const problem = thrown instanceof Error ? `threw ${thrown.name}` : 'threw';
    const code = new HoldfastError('CLASSIFIER_FAILED', { operation: name, problem }).code;
    return { verdict: 'retry', kind: 'unknown', code };
  }
}
