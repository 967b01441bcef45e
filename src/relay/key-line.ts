import { Fifo } from './fifo.ts';
import type { Delivery } from './relay-store.ts';

/**
 * The deliveries of one key in one unit, in the order they are to run: at most one at a time, and nothing while a holder (a
 * failed one that waits for its retry, or a dead one that blocks) stands before it. Only holders themselves run then, the
 * earliest first.
 */
export class KeyLine {
  readonly key: string;
  /** How many of it run or stand ready to run: one, or several that share a commit. */
  busy = 0;
  /** Payloads of its tail are on their way. */
  isFetching = false;
  readonly queue: Fifo<Delivery> = new Fifo();
  /** Beyond the queue only the place in line is kept: a hot key does not fill the memory. */
  readonly tail: Fifo<number> = new Fifo();
  /** Holders whose time has come, and all holders with whether they are dead. Most keys never have one. */
  #due: Map<number, Delivery> | undefined;
  #holders: Map<number, boolean> | undefined;
  #deadHolders = 0;
  #isSorted = true;
  #lastHolder = -1;

  constructor(key: string) {
    this.key = key;
  }

  get isEmpty(): boolean {
    return this.busy === 0 && !this.isFetching && !this.isHeld && this.queue.size === 0 && this.tail.size === 0;
  }

  get isHeld(): boolean {
    return this.#holders !== undefined;
  }

  get hasDeadHolder(): boolean {
    return this.#deadHolders > 0;
  }

  /** It goes on by itself, when the time of its holder has come. */
  get isWaiting(): boolean {
    return this.isHeld && this.#deadHolders === 0;
  }

  isHolder(seq: number): boolean {
    return this.#holders?.has(seq) ?? false;
  }

  hold(seq: number, isDead: boolean): void {
    this.#holders ??= new Map();
    if (!this.#holders.has(seq)) {
      this.#isSorted &&= seq > this.#lastHolder;
      this.#lastHolder = Math.max(seq, this.#lastHolder);
    }
    this.#deadHolders += Number(isDead) - Number(this.#holders.get(seq) ?? false);
    this.#holders.set(seq, isDead);
  }

  free(seq: number): void {
    if (this.#holders?.get(seq)) this.#deadHolders--;
    this.#holders?.delete(seq);
    this.#due?.delete(seq);
    if (this.#holders?.size !== 0) return;
    this.#holders = undefined;
    this.#isSorted = true;
    this.#lastHolder = -1;
  }

  /** The holder that comes first. */
  get firstHolder(): number | undefined {
    return this.#holders && earliestOf(this.#holders, this.#isSorted);
  }

  /** A holder that is a dead letter, the first as a rule. */
  get deadHolder(): number | undefined {
    if (this.#deadHolders > 0) for (const [seq, isDead] of this.#holders ?? []) if (isDead) return seq;
    return undefined;
  }

  /** The time of a holder has come. */
  addDue(delivery: Delivery): void {
    this.#due ??= new Map();
    this.#due.set(delivery.seq, delivery);
  }

  /** The delivery that may run now, taken out of the line. */
  take(): Delivery | undefined {
    if (this.busy > 0) return undefined;
    const first = this.firstHolder;
    if (first === undefined) return this.queue.shift();
    const delivery = this.#due?.get(first);
    this.#due?.delete(first);
    return delivery;
  }
}

// A key with a parked tail may have very many holders: they were loaded in order, so the first is the earliest.
function earliestOf(holders: ReadonlyMap<number, unknown>, isSorted: boolean): number {
  let first = Infinity;
  for (const seq of holders.keys()) {
    if (isSorted) return seq;
    first = Math.min(first, seq);
  }
  return first;
}
