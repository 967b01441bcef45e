import type { Hint } from './hint.ts';

/** What kind of trouble a thrown value is, as far as its codes tell. */
export type FailureKind =
  | 'timeout'
  | 'network'
  | 'http'
  | 'rate-limit'
  | 'overload'
  | 'quota'
  | 'auth'
  | 'database'
  | 'broker'
  | 'grpc'
  | 'invalid'
  | 'conflict'
  | 'terminal'
  | 'truncated'
  | 'unknown';

/** Why a failure is not tried again although attempts are left. */
export type RefusalReason = 'not-retryable' | 'server-said-no' | 'unsafe-replay';

/** A thrown value, read once: the verdict, and the facts that led to it. Plain data; logs, spans and metrics come from here. */
export interface Failure {
  readonly verdict: 'retry' | 'fail';
  readonly kind: FailureKind;
  /** Absent means `not-retryable` when the verdict is `fail`. */
  readonly reason?: RefusalReason;
  /** HTTP status, when there was one. */
  readonly status?: number;
  /** The client's or server's own code: `ECONNRESET`, `23505`, `overloaded_error`, … */
  readonly code?: string;
  /** What the server said about when to come back. */
  readonly hint?: Hint;
  /** How many attempts an inner layer had already made; present only if it made more than one. */
  readonly nestedAttempts?: number;
}

/**
 * Says whether a thrown value is worth another attempt. `'retry'` and `'fail'` override the verdict and keep the facts;
 * `undefined` leaves the answer to the next classifier.
 */
export type Classify = (error: unknown) => 'retry' | 'fail' | Failure | undefined;

/** A classifier that always has an answer. */
export type Classifier = (error: unknown) => Failure;

/** True for what a classifier may answer. Promises, `null` and misspelt verdicts are not that, and would be retried unseen. */
export function isClassifyAnswer(value: unknown): value is ReturnType<Classify> {
  if (value === undefined || value === 'retry' || value === 'fail') return true;
  const verdict: unknown =
    typeof value === 'object' && value !== null && 'verdict' in value ? value.verdict : undefined;
  return verdict === 'retry' || verdict === 'fail';
}
