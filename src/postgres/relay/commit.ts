import { HoldfastError } from '../../kernel/error.ts';
import { effectsOf } from '../../relay/commit-effects.ts';
import type { CommitOutcome, CommitTarget, RelaySession } from '../../relay/relay-store.ts';
import { CommitLost } from '../../relay/local-fault.ts';
import { isConflict, isRefusal, sqlStateOf } from '../driver/database-error.ts';
import { ConnectionLost, type Driver, type Query } from '../driver/driver.ts';
import { IS_SAME_TRANSACTION } from '../driver/transaction-limits.ts';
import type { Within } from '../transaction-adapter.ts';
import { decodeFenced } from './fence.ts';
import { finishParams, finishCall } from './finish.ts';

/** How often an effect is run when the database asks for it. */
const MAX_TRIES = 3;

// A statement failed before, and the effect went on: the transaction is over.
const FAILED_BEFORE = '25P02';

/** Ends a transaction whose deliveries are no longer this worker's. Never leaves this file. */
class Refused extends Error {}

/**
 * Committing effects with their completion, on the application's pool. `limitMs` is how long a session may rest inside its
 * transaction or wait for a lock: a process that is stopped there holds its units until then.
 */
export function commitAct<Tx>(
  driver: Driver<unknown>,
  schema: string,
  within: Within<Tx>,
  limitMs: () => number,
): RelaySession<Tx>['commit'] {
  const finish = `${finishCall(schema)} where ${IS_SAME_TRANSACTION}`;
  const commitOnce = async (
    workerId: string,
    targets: readonly CommitTarget[],
    effects: readonly ((tx: Tx) => Promise<void>)[],
  ): Promise<CommitOutcome> => {
    let isComplete = false;
    try {
      // As the last step: the lease is held for the shortest time.
      const complete = async (query: Query): Promise<void> => {
        const rows = await query(finish, finishParams(workerId, targets)).catch(notCompleted);
        if (rows.length === 0) throw new HoldfastError('TRANSACTION_ENDED', {});
        const { seqs } = decodeFenced(rows);
        if (seqs.length < targets.length) throw new Refused();
        isComplete = true;
      };
      const run = async (native: unknown, renew: () => Promise<unknown>): Promise<void> => {
        for (const [at, effect] of effects.entries()) await within(at === 0 ? native : await renew(), effect);
      };
      await driver.transaction(limitMs(), run, complete);
      return 'committed';
    } catch (error) {
      if (error instanceof Refused) return 'refused';
      if (error instanceof ConnectionLost || (isComplete && !isRefusal(error))) throw new CommitLost(error);
      throw error;
    }
  };
  return async (workerId, targets, effects) => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await commitOnce(workerId, targets, effectsOf(effects));
      } catch (error) {
        if (attempt >= MAX_TRIES || !isConflict(error)) throw error;
      }
    }
  };
}

/** What a failed completion means: an effect that hid its own failure, a conflict, or what only a look at the database tells. */
function notCompleted(error: unknown): never {
  if (sqlStateOf(error) === FAILED_BEFORE || isConflict(error)) throw error;
  throw new CommitLost(error);
}
