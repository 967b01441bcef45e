import type { Snapshot } from '../relay/relay-store.ts';

/**
 * Transaction ids and snapshots as PostgreSQL has them. A snapshot's `xmax` is the last *completed* id + 1 and not the next
 * one to be given: a transaction that has begun with a higher id is not in its list, and a reader must expect it all the same.
 */
export class TransactionIds {
  #next = 100;
  #lastCompleted = 99;
  /** Those that have not ended, with what is to be told when they have. */
  readonly #open = new Map<number, PromiseWithResolvers<void> | undefined>();

  begin(): number {
    const id = this.#next++;
    this.#open.set(id, undefined);
    return id;
  }

  /** Committed or rolled back: both are completed. */
  end(id: number): void {
    const ended = this.#open.get(id);
    this.#open.delete(id);
    this.#lastCompleted = Math.max(this.#lastCompleted, id);
    ended?.resolve();
  }

  /** Resolves when everything that is open now has ended; nothing when there is nothing. */
  whenOver(): Promise<unknown> | undefined {
    if (this.#open.size === 0) return undefined;
    const ends = [...this.#open].map(([id, known]) => {
      const ended = known ?? Promise.withResolvers<void>();
      this.#open.set(id, ended);
      return ended.promise;
    });
    return Promise.all(ends);
  }

  /** A transaction that begins and ends in one step, as every statement outside a transaction does. */
  pass(): number {
    const id = this.begin();
    this.end(id);
    return id;
  }

  snapshot(): Snapshot {
    const xmax = this.#lastCompleted + 1;
    const open = [...this.#open.keys()].filter((id) => id < xmax).sort((a, b) => a - b);
    return { server: 'memory', xmin: String(open[0] ?? xmax), xmax: String(xmax), xip: open.map(String) };
  }
}
