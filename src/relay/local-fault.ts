import { eventHandlerClassifier } from '../retry/classifier.ts';
import type { CommitOutcome, CommitTarget, RelaySession } from './relay-store.ts';

/** Something between the relay and its database went wrong. Not the message's fault: no attempt is counted. Stays in the relay. */
export class LocalFault extends Error {}

// What the statements of an effect ran into, and not the way to the database: serialisation failure, deadlock, lock timeout.
const CONFLICTS: ReadonlySet<unknown> = new Set(['40001', '40P01', '55P03']);

/**
 * Commits effects with their completion. Throws what the effect threw, and what the database says about it at the commit (a
 * deferred constraint). A connection that was lost on the way is `unknown`: the row tells what became of it.
 */
export async function commitSafely<Tx>(
  session: RelaySession<Tx>,
  workerId: string,
  targets: readonly CommitTarget[],
  effect: (tx: Tx) => Promise<void>,
): Promise<CommitOutcome> {
  let thrown: { readonly error: unknown } | undefined;
  try {
    return await session.commit(workerId, targets, async (tx) => {
      try {
        await effect(tx);
      } catch (error) {
        thrown = { error };
        throw error;
      }
    });
  } catch (error) {
    const isOfEffect = thrown !== undefined && thrown.error === error;
    const { verdict, code } = eventHandlerClassifier(error);
    if (isOfEffect || verdict === 'fail' || CONFLICTS.has(code)) throw error;
    return 'unknown';
  }
}
