import type { DeliveryError } from '../relay/relay-store.ts';

/**
 * One cycle of attempts that ended in failure, as it is kept in `failure_history` once the delivery is replayed or discarded.
 * Fields are only ever added. Times are ISO 8601 in UTC. The error is without its stack: a history grows with every replay.
 */
export interface FailureCycle {
  /** From 0. */
  readonly cycle: number;
  readonly service: string;
  readonly handler: string;
  /** How many attempts the cycle had. */
  readonly attempts: number;
  readonly firstFailedAt: string | null;
  readonly failedAt: string;
  readonly error: Omit<DeliveryError, 'stack'> | null;
  /** The generation it failed in. */
  readonly generation: number | null;
  /** Both null: it was discarded and not replayed. */
  readonly replayedAt: string | null;
  readonly replayedBy: string | null;
}
