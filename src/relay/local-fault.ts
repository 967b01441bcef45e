import { eventHandlerClassifier } from '../retry/classifier.ts';
import { sqlstateRule } from '../retry/classify/sqlstate-rule.ts';
import { type CommitEffects, effectsOf } from './commit-effects.ts';
import type { DatabaseWatch } from './database-watch.ts';
import type { FaultBlame } from './faults.ts';
import type { RelayEvent } from './relay-event.ts';
import type { CommitOutcome, CommitTarget, RelaySession } from './relay-store.ts';

/** Something between a run and its database went wrong; what became of its commit only the row tells. Stays in the relay. */
export class LocalFault extends Error {
  readonly blame: FaultBlame;

  constructor(blame: FaultBlame, cause: unknown) {
    super('a fault between a run and its database', { cause });
    this.blame = blame;
  }
}

/** What a store's commit throws where its connection was lost or its completion could not be written: whose doing it was it cannot tell. */
export class CommitLost extends Error {
  override readonly name = 'CommitLost';

  constructor(cause: unknown) {
    super('the commit was lost', { cause });
  }
}

// What an effect ran into by itself, and not the way to the database: serialisation failure, deadlock, lock timeout, a rest.
const OF_EFFECT: ReadonlySet<unknown> = new Set(['40001', '40P01', '55P03', 'TRANSACTION_RESTED']);

// No space, no memory, too many connections, a failing disk.
const NO_CAPACITY = /^5[38]...$/;

const READ_ONLY = '25006';

/** What it takes to commit. */
interface CommitHost<Tx> {
  readonly session: RelaySession<Tx>;
  readonly watch: DatabaseWatch;
  readonly tell: (event: RelayEvent) => void;
  workerId(): string;
}

/**
 * Commits effects with their completion. Throws what the effect threw, and what the database says about it at the commit (a
 * deferred constraint, a trigger). A connection that was lost on the way, or whatever else is not known to be the effect's doing, is
 * told and answered as a fault.
 */
export async function commitSafely<Tx>(
  host: CommitHost<Tx>,
  targets: readonly CommitTarget[],
  effects: CommitEffects<Tx>,
): Promise<CommitOutcome | LocalFault> {
  // Right after the start it may not be known yet.
  const before = host.watch.known ?? (await host.watch.look());
  let isCalled = false;
  let thrown: { readonly error: unknown } | undefined;
  try {
    const watched = effectsOf(effects).map((effect) => async (tx: Tx) => {
      isCalled = true;
      thrown = undefined;
      try {
        await effect(tx);
      } catch (error) {
        thrown = { error };
        throw error;
      }
    });
    return await host.session.commit(host.workerId(), targets, watched);
  } catch (error) {
    const isThrown = thrown !== undefined && thrown.error === error;
    // What a replica says to a write, which a connection of the pool may still lead to after a failover.
    if (codeOf(error) !== READ_ONLY && (isThrown || isOfEffect(error))) throw error;
    const cause = error instanceof CommitLost ? error.cause : error;
    const fault = isCalled ? await faultOf(host.watch, before, cause) : new LocalFault('capacity', cause);
    host.tell({ kind: 'store-failed', during: 'commit', error: cause, failures: 1 });
    return fault;
  }
}

/** A fault, with what it is laid to. `before`: what was known of the database when that began which went wrong. */
export async function faultOf(watch: DatabaseWatch, before: string | undefined, error: unknown): Promise<LocalFault> {
  const now = await watch.look();
  if (now === undefined || now !== before) return new LocalFault('database', error);
  return new LocalFault(NO_CAPACITY.test(codeOf(error)) ? 'capacity' : 'run', error);
}

/** Only what is known to be no fault of the effect is not its own. */
function isOfEffect(error: unknown): boolean {
  if (error instanceof CommitLost) return false;
  const { verdict, kind, code = '' } = eventHandlerClassifier(error);
  return verdict === 'fail' || OF_EFFECT.has(code) || (kind === 'database' && sqlstateRule(code).verdict === undefined);
}

function codeOf(error: unknown): string {
  return eventHandlerClassifier(error).code ?? '';
}
