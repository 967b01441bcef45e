import { HoldfastError } from '../../kernel/error.ts';

/**
 * The statements that begin the transaction of an effect: the server ends the session when nothing was asked of it for so
 * long, or a statement that waits for a lock. "Local": behind a pooler the session is somebody else's after the commit. The mark
 * goes with the transaction: an effect that ended it by itself is found out by that.
 */
export function limitStatements(restMs: number): string {
  const limit = Math.ceil(restMs);
  return `set local idle_in_transaction_session_timeout = ${limit}; set local lock_timeout = ${limit}; set local holdfast.effect = 'open'`;
}

/**
 * The first statement of a transaction of our own. Ours are written for read committed, whatever a role or a database begins with: under a
 * stricter one each row that somebody has changed meanwhile is an error, and a second look sees what the first one saw.
 */
export const READ_COMMITTED = 'set transaction isolation level read committed';

/**
 * The same for a transaction of our own, between whose statements there is no work of others: a process that is stopped there, by its
 * machine or by hand, must not hold its locks for ever. Nobody could register.
 */
export function restLimit(restMs: number): string {
  return `${READ_COMMITTED}; set local idle_in_transaction_session_timeout = ${Math.ceil(restMs)}`;
}

/** True in SQL as long as the transaction of the effect is the one that was begun for it. */
export const IS_SAME_TRANSACTION = `current_setting('holdfast.effect', true) = 'open'`;

/** An effect that rests inside its transaction is at fault itself: tried without end, it would never be a dead letter. */
export function restedTooLong(restMs: number, cause?: unknown): HoldfastError<'TRANSACTION_RESTED'> {
  return new HoldfastError('TRANSACTION_RESTED', { restMs: Math.ceil(restMs) }, { cause });
}

/**
 * Runs after a rollback, which undoes all of an effect but the advisory locks it took for its session: pooled, the connection would hold
 * them until it is closed, and the next attempt would wait for them on another.
 */
export const UNLOCK_SESSION = 'select pg_catalog.pg_advisory_unlock_all()';
