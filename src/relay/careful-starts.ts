import type { MarkTarget } from './relay-store.ts';
import type { Run } from './run.ts';

/** What is asked of a message that may have killed its process before it is started. */
export interface CarefulHost<Tx> {
  mark(targets: readonly MarkTarget[]): Promise<ReadonlySet<number>>;
  nowMs(): number;
  /** Runs it now. */
  execute(run: Run<Tx>): void;
  /** It may not be run: its row is no longer as it was read. */
  drop(run: Run<Tx>): void;
  /** How many runs are executing. */
  executing(): number;
}

// Once it may have been a neighbour of the one that killed its process; twice is worth running it alone.
const SUSPECT_STARTS = 2;

/**
 * From this many marked starts on a message is taken to be what kills its process: three of them alone. After one alone, each crash of a
 * service that dies for reasons of its own would cost the message that happened to run then (4 of 10 storms had such a one).
 */
export const KILLER_STARTS = 5;

/**
 * Starts messages of a unit whose owner died, so that one that kills its process is found out and its neighbours are not
 * blamed, without a write for every message in quiet times. Each start is marked on the row first. A row that was running
 * twice when a process died runs alone in the process, one after the other, each settled before the next. So one that kills
 * its process costs six deaths at most.
 */
export class CarefulStarts<Tx> {
  readonly #host: CarefulHost<Tx>;
  #toMark: Run<Tx>[] = [];
  #isMarking = false;
  readonly #suspects: Run<Tx>[] = [];
  #alone: Run<Tx> | undefined;
  readonly #held: Run<Tx>[] = [];

  constructor(host: CarefulHost<Tx>) {
    this.#host = host;
  }

  /** Nothing else may be started while a suspect waits or runs. */
  get isExclusive(): boolean {
    return this.#suspects.length > 0 || this.#alone !== undefined;
  }

  /** Takes over the start of a run. */
  add(run: Run<Tx>): void {
    if (run.unit.marks.startsOf(run.delivery) >= SUSPECT_STARTS) {
      this.#suspects.push(run);
      this.next();
    } else {
      this.#toMark.push(run);
      if (!this.#isMarking) void this.#markAll();
    }
  }

  /** True when the run may execute at once; otherwise it is kept until the suspects are through. */
  admits(run: Run<Tx>): boolean {
    if (!this.isExclusive || this.#alone === run) return true;
    this.#held.push(run);
    return false;
  }

  /** The run is over and its result is written or refused. */
  over(run: Run<Tx>): void {
    if (this.#alone === run) this.#alone = undefined;
    this.next();
  }

  /** Looks whether a suspect can run now; called whenever a run ends. */
  next(): void {
    if (this.#alone || this.#host.executing() > 0) return;
    const suspect = this.#suspects.shift();
    if (suspect) {
      this.#alone = suspect;
      void this.#markAndRun([suspect]);
      return;
    }
    for (const run of this.#held.splice(0)) this.#host.execute(run);
  }

  async #markAll(): Promise<void> {
    this.#isMarking = true;
    while (this.#toMark.length > 0) {
      const runs = this.#toMark;
      this.#toMark = [];
      await this.#markAndRun(runs);
    }
    this.#isMarking = false;
  }

  async #markAndRun(runs: readonly Run<Tx>[]): Promise<void> {
    const unmarked = runs.filter(({ unit, delivery }) => unit.marks.isNeeded(delivery));
    const marked = await this.#mark(unmarked);
    for (const run of runs) {
      if (marked.has(run) || !unmarked.includes(run)) this.#host.execute(run);
      else this.#host.drop(run);
    }
  }

  async #mark(runs: readonly Run<Tx>[]): Promise<ReadonlySet<Run<Tx>>> {
    if (runs.length === 0) return new Set();
    const now = this.#host.nowMs();
    for (const { unit, delivery } of runs) {
      unit.marks.note(delivery, false);
      unit.marks.carefulStarts = Math.max(0, unit.marks.carefulStarts - 1);
    }
    try {
      const targets = runs.map((run) => ({ ...run.targetAt(now), starts: run.unit.marks.startsOf(run.delivery) + 1 }));
      const seqs = await this.#host.mark(targets);
      const marked = runs.filter(({ delivery }) => seqs.has(delivery.seq));
      for (const { unit, delivery } of marked) unit.marks.note(delivery, true);
      return new Set(marked);
    } catch {
      // The host has told about the failure. Not started, so nothing is lost: the unit is loaded anew.
      return new Set();
    }
  }
}
