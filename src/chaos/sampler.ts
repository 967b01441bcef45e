import type { LedgerSample } from '../drills/ledger.ts';
import { createSleep } from '../kernel/sleep.ts';
import { systemEffects } from '../system/effects.ts';
import type { DrillProgress } from './drill-database.ts';
import type { Site } from './site.ts';

const LEAST_MS = 1_000;
/** So many of a run at most, whatever it lasts, or nearly. */
const MOST = 80;

/** Looks every now and then how far the work is, and what it takes. */
export class Sampler {
  readonly samples: LedgerSample[] = [];
  readonly #site: Site;
  readonly #onSample: (progress: DrillProgress) => void;
  readonly #stopped = new AbortController();
  readonly #running: Promise<void>;
  readonly #beganMs = systemEffects.monoMs();

  constructor(site: Site, onSample: (progress: DrillProgress) => void) {
    this.#site = site;
    this.#onSample = onSample;
    this.#running = this.#run();
  }

  /** May be called twice. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const sleep = createSleep(systemEffects);
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      // A look that fails is left out: what the drill concludes, it concludes from its own.
      await this.#look().catch(() => undefined);
      const everyMs = Math.max(LEAST_MS, (systemEffects.monoMs() - this.#beganMs) / MOST);
      await sleep(everyMs, signal).catch(() => undefined);
    }
  }

  async #look(): Promise<void> {
    const { database, crew } = this.#site;
    const progress = await database.progress();
    const { rows, bytes } = await database.size();
    const rss = [...crew.members].map((member) => member.rss).filter((one) => one > 0);
    this.samples.push({
      atMs: Math.round(systemEffects.monoMs() - this.#beganMs),
      open: progress.open,
      rss,
      rows,
      bytes,
    });
    this.#onSample(progress);
  }
}
