import type { Effects } from '../kernel/effects.ts';
import { createSleep } from '../kernel/sleep.ts';
import type { HouseReport } from '../relay/house-report.ts';
import type { RelayObserver } from '../relay/relay-event.ts';
import { linkAbort } from '../kernel/abort-link.ts';
import { answered } from './answered.ts';
import type { HeldLease, Lease } from './lease.ts';
import type { Wakeup } from './wakeup.ts';

/** A lease that is held by a worker at work; aborted also when that is to stop. */
export interface Tenure {
  readonly lease: HeldLease;
  readonly signal: AbortSignal;
}

/** What a worker works with. */
export interface WorkerParts {
  readonly lease: Lease;
  readonly wakeup: Wakeup;
  readonly pollMs: number;
  readonly effects: Effects;
  readonly tell: RelayObserver;
  /** Does what there is to do. `busy`: there may be more at once; otherwise how long it need not look again, at most. */
  readonly round: (tenure: Tenure) => Promise<'busy' | { readonly idleMs: number }>;
  /** What was begun in a tenure has ended. */
  readonly settled: () => Promise<void>;
  /** Stands for the lease in what is emitted: different for an outbox and an inbox, which may have the same observers. */
  readonly unit: number;
  /** Counts, for metrics. Of all processes, the one that holds the lease does so. */
  readonly count: () => Promise<HouseReport>;
}

const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 5_000;
/** How often is counted. */
const COUNT_MS = 5_000;
/** How often one that stands by looks whether the lease is free. */
const STAND_BY_MS = 1_000;

/** Works while it holds a lease, and stands by while another does. */
export class Worker {
  readonly #parts: WorkerParts;
  readonly #stopped = new AbortController();
  readonly #running: Promise<void>;

  constructor(parts: WorkerParts) {
    this.#parts = parts;
    this.#running = this.#run();
  }

  /** May be called twice. Resolves when nothing of it runs any more. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { lease, wakeup, effects, tell, pollMs } = this.#parts;
    const sleep = createSleep(effects);
    const { signal } = this.#stopped;
    for (let failures = 0; !signal.aborted;) {
      try {
        const held = await lease.acquire();
        if (held) await this.#hold(held, () => (failures = 0));
        else await sleep(Math.min(STAND_BY_MS, pollMs), signal).catch(() => undefined);
      } catch (error) {
        failures += 1;
        tell({ kind: 'store-failed', during: 'relay', error, failures });
        const waitMs = Math.min(FIRST_WAIT_MS * 2 ** (failures - 1), LONGEST_WAIT_MS);
        await sleep(waitMs, signal).catch(() => undefined);
      }
    }
    // A server that hangs does not answer to that either.
    await answered(effects, wakeup.close(), LONGEST_WAIT_MS).catch(() => undefined);
  }

  /** Works until it is to stop, or the lease is lost. Rejects when the database does not answer as it should. */
  async #hold(lease: HeldLease, onRound: () => void): Promise<void> {
    const { round, wakeup, pollMs, settled, tell, unit } = this.#parts;
    const over = new AbortController();
    const end = (): void => over.abort();
    let isLost = false;
    const lose = (): void => {
      end();
      isLost = true;
      tell({ kind: 'units-lost', units: [unit], why: 'refused' });
    };
    const links = [linkAbort(this.#stopped.signal, end), linkAbort(lease.signal, lose)];
    tell({ kind: 'units-acquired', units: [unit], orphaned: 0 });
    if (this.#stopped.signal.aborted || lease.signal.aborted) end();
    const counting = this.#count(over.signal);
    try {
      while (!over.signal.aborted) {
        const next = await round({ lease, signal: over.signal });
        onRound();
        if (next !== 'busy') await wakeup.wait(Math.max(1, Math.min(pollMs, next.idleMs)), over.signal);
      }
    } finally {
      end();
      for (const unlink of links) unlink();
      await settled();
      await counting;
      await lease.release();
      if (!isLost) tell({ kind: 'units-released', units: [unit] });
    }
  }

  /** Counts every five seconds until the signal is aborted. Never rejects. */
  async #count(signal: AbortSignal): Promise<void> {
    const { count, effects, tell, unit } = this.#parts;
    const sleep = createSleep(effects);
    for (let failures = 0; !signal.aborted;) {
      try {
        const report = await untilAborted(count(), signal);
        failures = 0;
        if (report) tell({ kind: 'house', report, unit });
      } catch (error) {
        failures += 1;
        if (!signal.aborted) tell({ kind: 'store-failed', during: 'count', error, failures });
      }
      await sleep(COUNT_MS, signal).catch(() => undefined);
    }
  }
}

/** What `work` gives, or nothing as soon as the signal is aborted: a count is not waited for by a stop. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const unlink = linkAbort(signal, () => resolve(undefined));
    work.then(resolve, reject).finally(unlink);
  });
}
