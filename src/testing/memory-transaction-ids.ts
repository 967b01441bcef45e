import type { Snapshot } from '../relay/relay-store.ts';

/**
 * Transaction ids and snapshots as PostgreSQL has them. A snapshot's `xmax` is the last *completed* id + 1 and not the next
 * one to be given: a transaction that has begun with a higher id is not in its list, and a reader must expect it all the same.
 */
export class TransactionIds {
  #next = 100;
  #lastCompleted = 99;
  readonly #open = new Set<number>();

  begin(): number {
    const id = this.#next++;
    this.#open.add(id);
    return id;
  }

  /** Committed or rolled back: both are completed. */
  end(id: number): void {
    this.#open.delete(id);
    this.#lastCompleted = Math.max(this.#lastCompleted, id);
  }

  /** A transaction that begins and ends in one step, as every statement outside a transaction does. */
  pass(): number {
    const id = this.begin();
    this.end(id);
    return id;
  }

  snapshot(): Snapshot {
    const xmax = this.#lastCompleted + 1;
    const open = [...this.#open].filter((id) => id < xmax).sort((a, b) => a - b);
    return { xmin: String(open[0] ?? xmax), xmax: String(xmax), xip: open.map(String) };
  }
}
