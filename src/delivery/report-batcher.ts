import type { Effects } from '../kernel/effects.ts';
import type { SenderStore } from './sender-store.ts';

/** How an attempt ended, and what is published because of it. */
export type Report = Parameters<SenderStore['report']>[0][number];

interface Waiting {
  readonly report: Report;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** What reports are written with. */
export interface ReportHost {
  readonly effects: Effects;
  readonly store: Pick<SenderStore, 'report'>;
  readonly storeFailed: (error: unknown) => void;
}

const MOST_AT_ONCE = 200;
const TRIES = 4;
const FIRST_WAIT_MS = 100;

/**
 * Writes how attempts ended, many in one commit: while one is written the others gather. Where several cannot be written together, each
 * half is tried by itself, so that one that cannot be written holds up no other.
 */
export class ReportBatcher {
  readonly #host: ReportHost;
  #waiting: Waiting[] = [];
  #isWriting = false;

  constructor(host: ReportHost) {
    this.#host = host;
  }

  /** Resolves when it is written; rejects when it could not be, after some tries. */
  add(report: Report): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.push({ report, resolve, reject });
    if (!this.#isWriting) void this.#writeAll();
    return promise;
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true;
    // What ended in the same moment goes together.
    await Promise.resolve();
    while (this.#waiting.length > 0) await this.#write(this.#waiting.splice(0, MOST_AT_ONCE));
    this.#isWriting = false;
  }

  async #write(batch: readonly Waiting[]): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        await this.#host.store.report(batch.map(({ report }) => report));
        return batch.forEach(({ resolve }) => resolve());
      } catch (error) {
        this.#host.storeFailed(error);
        if (batch.length > 1) break;
        if (tries >= TRIES) return batch.forEach(({ reject }) => reject(error));
        await this.#sleep(FIRST_WAIT_MS * 2 ** tries);
      }
    }
    const half = Math.ceil(batch.length / 2);
    await this.#write(batch.slice(0, half));
    await this.#write(batch.slice(half));
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#host.effects.setTimer(resolve, ms);
    });
  }
}
