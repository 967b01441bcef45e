import { HoldfastError } from '../../kernel/error.ts';

/**
 * The statements that begin the transaction of an effect: the server ends the session when nothing was asked of it for so
 * long, or a statement that waits for a lock. "Local": behind a pooler the session is somebody else's after the commit.
 */
export function limitStatements(restMs: number): string {
  const limit = Math.ceil(restMs);
  return `set local idle_in_transaction_session_timeout = ${limit}; set local lock_timeout = ${limit}`;
}

/** An effect that rests inside its transaction is at fault itself: tried without end, it would never be a dead letter. */
export function restedTooLong(restMs: number, cause?: unknown): HoldfastError<'TRANSACTION_RESTED'> {
  return new HoldfastError('TRANSACTION_RESTED', { restMs: Math.ceil(restMs) }, { cause });
}
