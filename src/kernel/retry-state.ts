import type { Instant } from './effects.ts';

/**
 * Where one retried operation stands. Plain JSON: it can be kept in a row, and the operation goes on in another
 * process with `resume`.
 */
export interface RetryState {
  readonly v: 1;
  /** How many attempts have ended. */
  readonly attempts: number;
  /** All delays scheduled so far, added up. */
  readonly waitedMs: number;
  /** The delay before the coming attempt; 0 before the first wait. */
  readonly lastDelayMs: number;
  /** Where elapsed time is counted from: the start of the first attempt, or its end when the policy has no elapsed budget. */
  readonly startedAt: Instant;
  /** Epoch time at which the first attempt failed; absent before. */
  readonly firstFailedAtMs?: number;
  /** Epoch time at which the coming attempt is due; absent before the first wait and after a stop. */
  readonly dueAtMs?: number;
  /** Failures because something it depends on was down; absent before the first. They spend time and no attempts. */
  readonly outage?: OutageState;
}

/** What outages have cost one message so far. */
export interface OutageState {
  /** How many runs failed because of an outage. */
  readonly failures: number;
  /** Waiting time charged to the budget. */
  readonly spentMs: number;
  /** The budget: a message that has spent it becomes a dead letter. */
  readonly maxMs: number;
  /** Epoch times of the first and of the last failure. */
  readonly firstAtMs: number;
  readonly lastAtMs: number;
}
