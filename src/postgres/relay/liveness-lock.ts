import { newId } from '../../system/new-id.ts';

/**
 * Takes the advisory lock $1 for the session. The server gives it back when the connection ends, so others see at once that a
 * process was killed: a lease would tell them seconds later.
 */
export const TAKE_LIVENESS_LOCK = 'select pg_try_advisory_lock($1::text::bigint)::int';

/** Gives the lock $1 back. */
export const RELEASE_LIVENESS_LOCK = 'select pg_advisory_unlock($1::text::bigint)::int';

/**
 * A key that nobody else has, the application with its own advisory locks neither: 62 random bits. A new one for each connection: the
 * server may believe for hours in an old one that the network lost, and would not give its lock.
 */
export function newLivenessKey(): string {
  return BigInt.asIntN(64, BigInt(`0x${newId().replaceAll('-', '').slice(-16)}`)).toString();
}
