import { eventHandlerClassifier } from '../retry/classifier.ts';
import { sqlstateRule } from '../retry/classify/sqlstate-rule.ts';
import type { RelayEvent } from './relay-event.ts';
import type { CommitOutcome, CommitTarget, RelaySession } from './relay-store.ts';

/** Something between the relay and its database went wrong. Not the message's fault: no attempt is counted. Stays in the relay. */
export class LocalFault extends Error {}

// What an effect ran into by itself, and not the way to the database: serialisation failure, deadlock, lock timeout, a rest.
const OF_EFFECT: ReadonlySet<unknown> = new Set(['40001', '40P01', '55P03', 'TRANSACTION_RESTED']);

/** What it takes to commit. */
interface CommitHost<Tx> {
  readonly session: RelaySession<Tx>;
  readonly tell: (event: RelayEvent) => void;
  workerId(): string;
}

/**
 * Commits effects with their completion. Throws what the effect threw, and what the database says about it at the commit (a
 * deferred constraint, a trigger). A connection that was lost on the way, or whatever else is not the effect's doing, is told
 * and `unknown`: the row tells what became of it.
 */
export async function commitSafely<Tx>(
  host: CommitHost<Tx>,
  targets: readonly CommitTarget[],
  effect: (tx: Tx) => Promise<void>,
): Promise<CommitOutcome> {
  let thrown: { readonly error: unknown } | undefined;
  try {
    return await host.session.commit(host.workerId(), targets, async (tx) => {
      try {
        await effect(tx);
      } catch (error) {
        thrown = { error };
        throw error;
      }
    });
  } catch (error) {
    if ((thrown !== undefined && thrown.error === error) || isOfEffect(error)) throw error;
    host.tell({ kind: 'store-failed', during: 'commit', error, failures: 1 });
    return 'unknown';
  }
}

/** Tried without an end it would never be a dead letter: only what is known to be no fault of the effect is not its own. */
function isOfEffect(error: unknown): boolean {
  if (error instanceof LocalFault) return false;
  const { verdict, kind, code = '' } = eventHandlerClassifier(error);
  return verdict === 'fail' || OF_EFFECT.has(code) || (kind === 'database' && sqlstateRule(code).verdict === undefined);
}
