import type { Effects } from '../kernel/effects.ts';
import { isHoldfastError } from '../kernel/error.ts';

/** How many bytes travel at once where nothing is known yet. Under it, 500 messages of 8 kB still go together. */
export const BATCH_BYTES: number = 4_194_304;

/** What was carried in this time fits twice. */
const QUICK_MS = 1_000;

/**
 * How many bytes of messages travel at once. A batch that was not answered in time travels again in halves, down to a single message: a
 * slow link or a busy database would otherwise be given the same batch for ever. Batches grow again while they are answered quickly.
 */
export class BatchLimit {
  readonly #effects: Pick<Effects, 'monoMs'>;
  #bytes = BATCH_BYTES;

  constructor(effects: Pick<Effects, 'monoMs'>) {
    this.#effects = effects;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Carries a batch and learns from it. `size`: what it holds, in bytes; default: as many as it may. */
  async carry<T>(work: () => Promise<T>, size: number = this.#bytes): Promise<T> {
    const beganMs = this.#effects.monoMs();
    try {
      const result = await work();
      if (this.#effects.monoMs() - beganMs < QUICK_MS) this.#bytes = Math.min(BATCH_BYTES, 2 * this.#bytes);
      return result;
    } catch (error) {
      if (isTimeout(error)) this.#bytes = Math.max(1, Math.floor(Math.min(this.#bytes, size) / 2));
      throw error;
    }
  }
}

/** The first of these that fit together, at least one. */
export function batchOf<T>(all: readonly T[], maxBytes: number, sizeOf: (one: T) => number): Batch<T> {
  let size = 0;
  let count = 0;
  for (const one of all) {
    const next = size + sizeOf(one);
    if (count > 0 && next > maxBytes) break;
    size = next;
    count += 1;
  }
  return { batch: count === all.length ? all : all.slice(0, count), size };
}

/** What travels at once, and about how many bytes it is. */
export interface Batch<T> {
  readonly batch: readonly T[];
  readonly size: number;
}

function isTimeout(error: unknown): boolean {
  return isHoldfastError(error, 'BROKER_TIMEOUT') || isHoldfastError(error, 'DATABASE_TIMEOUT');
}
