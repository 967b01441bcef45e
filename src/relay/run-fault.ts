import { HoldfastError } from '../kernel/error.ts';
import type { Failure } from '../retry/failure.ts';
import { toDeliveryError } from './delivery-error.ts';
import { faultWaitMs, isAttempt, withFault } from './faults.ts';
import type { HandlerDefinition } from './handler.ts';
import type { LineChange } from './key-line.ts';
import { retryHolds } from './lines.ts';
import type { LocalFault } from './local-fault.ts';
import type { RelayEvent } from './relay-event.ts';
import type { Delivery, Settlement } from './relay-store.ts';
import { type FailedAttempt, planFailure } from './run-failure.ts';

/** What a fault is as a failure; no classifier is asked, which is for what handlers throw. */
export const FAULT_FAILURE: Failure = { verdict: 'retry', kind: 'database', code: 'DATABASE_FAULT' };

/** What follows a fault: what is written, how the key's queue changes, and what observers receive. */
export interface FaultPlan {
  readonly settlement: Settlement;
  readonly change: LineChange;
  readonly event: RelayEvent;
}

/** A run that a fault has ended, as an error for its handler and for those who look at its message. */
export function faultError({ id, faults }: Delivery, handler: string, { blame, cause }: LocalFault): HoldfastError {
  return new HoldfastError('DATABASE_FAULT', { id, handler, runs: withFault(faults, blame).count, blame }, { cause });
}

/**
 * Decides what follows a fault. Every run counts: at first it only counts its faults, and the message waits longer each time. Once they
 * are too many in a row to be chance, each is a failed attempt, and the message becomes a dead letter like any other. Pure.
 */
export function planFault<Tx>(
  handler: HandlerDefinition<Tx>,
  fault: LocalFault,
  failed: Omit<FailedAttempt, 'error' | 'failure'>,
): FaultPlan {
  const { delivery, target, random } = failed;
  const faults = withFault(delivery.faults, fault.blame);
  const thrown = faultError(delivery, handler.name, fault);
  if (isAttempt(faults)) {
    const plan = planFailure(handler, { ...failed, error: thrown, failure: FAULT_FAILURE });
    const { settlement } = plan;
    return settlement.kind === 'retry' ? { ...plan, settlement: { ...settlement, faults } } : plan;
  }
  const holds = retryHolds(handler.lines, delivery.key);
  const error = toDeliveryError(thrown, FAULT_FAILURE);
  const delayMs = faultWaitMs(faults, random);
  return {
    settlement: { ...target, kind: 'postpone', delayMs, holds, error, faults },
    change: holds ? 'waits' : 'yields',
    event: {
      kind: 'run-interrupted',
      handler: handler.name,
      delivery,
      reason: 'database-fault',
      detail: error.message,
      faults: faults.count,
    },
  };
}
