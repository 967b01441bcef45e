import type { Effects } from '../kernel/effects.ts';
import { HoldfastError } from '../kernel/error.ts';
import { commitSafely, LocalFault } from './local-fault.ts';
import type { OwnedUnit } from './owned-unit.ts';
import type { Run } from './run.ts';
import { faultError } from './run-fault.ts';

/** What it takes to commit a run. */
type Host<Tx> = Parameters<typeof commitSafely<Tx>>[0] & {
  readonly units: ReadonlyMap<number, OwnedUnit>;
  readonly effects: Effects;
  whenKeySettled(run: Run<Tx>): Promise<void>;
};

/** Makes the effect and the completion of a run one commit. */
export async function commitRun<Tx>(host: Host<Tx>, run: Run<Tx>, effect: (tx: Tx) => Promise<unknown>): Promise<void> {
  const { id, handler } = run;
  if (run.isCommitting || run.committed) throw new HoldfastError('COMMITTED_TWICE', { id, handler });
  const outcome = await run.commitWith(async () => {
    await host.whenKeySettled(run);
    if (run.isOver || run.aborted || host.units.get(run.delivery.unit) !== run.unit) return 'refused';
    const target = run.targetAt(host.effects.monoMs());
    // Waited for to its end, also when the run is aborted: an effect that goes on with a transaction that is over would
    // write outside of it.
    return commitSafely(host, [target], async (tx) => {
      await effect(tx);
    });
  });
  if (outcome instanceof LocalFault) throw faultError(run.delivery, handler, outcome);
  if (outcome !== 'committed') throw new HoldfastError('DELIVERY_TAKEN', { id });
}
