import type { Effects } from '../kernel/effects.ts';
import { LONGEST_TIMER_MS } from '../kernel/effects.ts';
import { HoldfastError } from '../kernel/error.ts';
import type { Run } from './run.ts';

// How many promise turns a handler has to hand over what was on its way when its time was up.
const GRACE_TURNS = 100;

/**
 * Ends attempts whose time is up. One timer for each length and not one for each run: runs of one handler have the same
 * time, so the first that was started is the first to run out.
 */
export class Timeouts<Tx> {
  readonly #effects: Effects;
  readonly #giveUp: (run: Run<Tx>, error: unknown) => void;
  readonly #watched = new Map<number, { readonly runs: Set<Run<Tx>>; timer: unknown }>();

  constructor(effects: Effects, giveUp: (run: Run<Tx>, error: unknown) => void) {
    this.#effects = effects;
    this.#giveUp = giveUp;
  }

  watch(run: Run<Tx>, timeoutMs: number): void {
    if (timeoutMs === Infinity) return;
    run.timeoutMs = timeoutMs;
    let group = this.#watched.get(timeoutMs);
    if (!group) this.#watched.set(timeoutMs, (group = { runs: new Set(), timer: undefined }));
    group.runs.add(run);
    if (group.timer === undefined) this.#arm(timeoutMs);
  }

  forget(run: Run<Tx>): void {
    if (run.timeoutMs !== undefined) this.#watched.get(run.timeoutMs)?.runs.delete(run);
  }

  /** No timer is left behind. */
  stop(): void {
    for (const group of this.#watched.values()) {
      if (group.timer !== undefined) this.#effects.clearTimer(group.timer);
      group.timer = undefined;
    }
  }

  #arm(timeoutMs: number): void {
    const group = this.#watched.get(timeoutMs);
    const [first] = group?.runs ?? [];
    if (!group || !first) return;
    const leftMs = first.startedMs + timeoutMs - this.#effects.monoMs();
    group.timer = this.#effects.setTimer(
      () => {
        group.timer = undefined;
        this.#endLate(group.runs, timeoutMs);
        this.#arm(timeoutMs);
      },
      Math.min(Math.max(1, Math.ceil(leftMs)), LONGEST_TIMER_MS),
    );
  }

  #endLate(runs: Set<Run<Tx>>, timeoutMs: number): void {
    for (const run of runs) {
      if (this.#effects.monoMs() - run.startedMs < timeoutMs) return;
      runs.delete(run);
      void this.#end(run, timeoutMs);
    }
  }

  async #end(run: Run<Tx>, timeoutMs: number): Promise<void> {
    const error = new HoldfastError('ATTEMPT_TIMEOUT', { operation: run.handler, attempt: run.attempt, timeoutMs });
    run.abort(error);
    for (let turn = 0; turn < GRACE_TURNS && !run.isOver; turn++) await Promise.resolve();
    // A commit on its way decides for itself: given up now, its effect could be kept and counted as failed.
    while (run.isCommitting && !run.isOver) await run.whenCommitEnds();
    for (let turn = 0; turn < GRACE_TURNS && !run.isOver; turn++) await Promise.resolve();
    this.#giveUp(run, error);
  }
}
