import type { AtomicIdempotencyStore, Claim, RunEnd } from '../../idempotency/idempotency-store.ts';
import type { Effects } from '../../kernel/effects.ts';
import { HoldfastError } from '../../kernel/error.ts';
import { isConflict, isRefusal } from '../driver/database-error.ts';
import { ConnectionLost, type Driver, type Query } from '../driver/driver.ts';
import type { Within } from '../transaction-adapter.ts';
import { endParams } from './record-steps.ts';
import type { IdempotencyStatements } from './statements.ts';
import { wasCommitted } from './was-committed.ts';

/** What a commit is made of. */
export interface CommitParts<Tx> {
  readonly driver: Driver<unknown>;
  readonly statements: IdempotencyStatements;
  readonly within: Within<Tx>;
  readonly effects: Effects;
}

interface Done<T> {
  readonly value: T;
  readonly end: RunEnd;
}

type Work<Tx, T> = (tx: Tx) => Promise<Done<T>>;

type Outcome<T> =
  | { readonly kind: 'ended'; readonly value: T }
  | { readonly kind: 'late' }
  | { readonly kind: 'conflict'; readonly error: unknown };

/** How often work is run when the database asks for it although the work itself has not failed. */
const MAX_TRIES = 3;

/** How long a transaction may at least rest before it is rolled back, and its locks with it. */
const LEAST_REST_MS = 10_000;

/** How long one without a record may rest. */
const REST_MS = 30_000;

/** Ends a transaction whose run is no longer its owner's. Never leaves this file. */
class Late extends Error {}

/**
 * Committing work together with the end of its run, on the application's pool. Work is run again only when the end or the COMMIT
 * was refused with a serialisation failure or a deadlock: under `repeatable read` each renewal of the lease is one.
 */
export function commitAct<Tx>(parts: CommitParts<Tx>): AtomicIdempotencyStore<Tx>['commit'] {
  return async (claim, work) => {
    for (let attempt = 1; ; attempt += 1) {
      const outcome = await commitOnce(parts, claim, work);
      if (outcome.kind !== 'conflict') return outcome;
      if (attempt >= MAX_TRIES) throw outcome.error;
    }
  };
}

/** Committing work alone. */
export function transactionAct<Tx>(parts: CommitParts<Tx>): AtomicIdempotencyStore<Tx>['transaction'] {
  return (work) =>
    parts.driver
      .transaction(
        REST_MS,
        async (native) => parts.within(native, work),
        (_, result) => Promise.resolve(result),
      )
      .catch((error: unknown) => {
        throw causeOf(error);
      });
}

/** The driver's own error: that the connection was lost is for nobody but `commitOnce`. */
function causeOf(error: unknown): unknown {
  return error instanceof ConnectionLost ? error.cause : error;
}

async function commitOnce<Tx, T>(parts: CommitParts<Tx>, claim: Claim, work: Work<Tx, T>): Promise<Outcome<T>> {
  const { driver, statements, within } = parts;
  let worked: Done<T> | undefined;
  let transactionId: string | undefined;
  try {
    const effect = async (native: unknown): Promise<Done<T>> => {
      worked = await within(native, work);
      return worked;
    };
    // As the last step: the record is locked for the shortest time.
    const complete = async (query: Query, done: Done<T>): Promise<T> => {
      const [row] = await query(statements.endInside, endParams(claim, done.end));
      if (row === undefined) throw new HoldfastError('TRANSACTION_ENDED', {});
      // Nor may it have ended before under the same owner: what belongs to that end is committed.
      if (row[0] !== 'ended') throw new Late();
      transactionId = String(row[1]);
      return done.value;
    };
    const value = await driver.transaction(Math.max(LEAST_REST_MS, claim.leaseMs), effect, complete);
    return { kind: 'ended', value };
  } catch (error) {
    const cause = causeOf(error);
    if (cause instanceof Late) return { kind: 'late' };
    if (worked === undefined) throw cause;
    if (isConflict(cause)) return { kind: 'conflict', error: cause };
    // Only now can the COMMIT have been sent, and only its answer can be missing.
    if (transactionId === undefined || isRefusal(cause)) throw cause;
    if (await wasCommitted(parts, claim, transactionId, cause)) return { kind: 'ended', value: worked.value };
    throw cause;
  }
}
