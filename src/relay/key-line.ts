import { Fifo } from './fifo.ts';
import type { Delivery } from './relay-store.ts';

/** `waits` for its retry · `runs` again · `dead`, and blocks. */
export type HolderState = 'waits' | 'runs' | 'dead';

/**
 * How the end of a run changes its line. `yields`: it is tried again, and others take its place meanwhile · `passes`: others go on
 * once that is written.
 */
export type LineChange = 'done' | 'waits' | 'yields' | 'blocks' | 'passes';

/**
 * The deliveries of one key in one unit, in the order they are to run: as many at a time as the line is wide. A holder (a failed one
 * that waits for its retry, or a dead one that blocks) stands before the others: one that waits takes a place, and behind a dead one
 * nothing runs. In a line of width 1 only holders run while there are any, the earliest first.
 */
export class KeyLine {
  readonly key: string;
  /** How many of it run or stand ready to run: one, or several that share a commit, or as many as it is wide. */
  busy = 0;
  /** Payloads of its tail are on their way. */
  isFetching = false;
  /** The most it has been wide, or 0 while it is: it may be made narrow for moments, and what is kept of it should last beyond them. */
  width = 1;
  /** How many of its tail are asked for at once. */
  fetchSize = 0;
  /** Dead letters of it that are being written, parked ones too. */
  burying = 0;
  /** Nothing in its queue has its payload with it. */
  isLight = true;
  readonly queue: Fifo<Delivery> = new Fifo();
  /** Beyond the queue only the place in line is kept: a hot key does not fill the memory. */
  readonly tail: Fifo<number> = new Fifo();
  /** Holders whose time has come, and all holders. Most keys never have one. */
  #due: Map<number, Delivery> | undefined;
  #holders: Map<number, HolderState> | undefined;
  #dead = 0;
  #waiting = 0;
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
    return this.#dead > 0;
  }

  /** It goes on by itself, when the time of its holder has come. */
  get isWaiting(): boolean {
    return this.isHeld && this.#dead === 0;
  }

  noteWidth(width: number): void {
    this.width = width === 0 ? 0 : Math.max(width, this.width);
  }

  push(delivery: Delivery): void {
    this.queue.push(delivery);
    this.isLight &&= delivery.payload === undefined;
  }

  isHolder(seq: number): boolean {
    return this.#holders?.has(seq) ?? false;
  }

  isDead(seq: number): boolean {
    return this.#holders?.get(seq) === 'dead';
  }

  hold(seq: number, state: HolderState): void {
    this.#holders ??= new Map();
    const before = this.#holders.get(seq);
    if (before === undefined) {
      this.#isSorted &&= seq > this.#lastHolder;
      this.#lastHolder = Math.max(seq, this.#lastHolder);
    }
    this.#count(before, -1);
    this.#count(state, 1);
    this.#holders.set(seq, state);
  }

  free(seq: number): void {
    this.#count(this.#holders?.get(seq), -1);
    this.#holders?.delete(seq);
    this.#due?.delete(seq);
    if (this.#holders?.size !== 0) return;
    this.#holders = undefined;
    this.#isSorted = true;
    this.#lastHolder = -1;
  }

  /** The holder that comes first. */
  get firstHolder(): number | undefined {
    return this.#holders && earliestOf(this.#holders.keys(), this.#isSorted);
  }

  /** A holder that is a dead letter, the first as a rule. */
  get deadHolder(): number | undefined {
    if (this.#dead > 0) for (const [seq, state] of this.#holders ?? []) if (state === 'dead') return seq;
    return undefined;
  }

  /** The time of a holder has come. */
  addDue(delivery: Delivery): void {
    this.#due ??= new Map();
    this.#due.set(delivery.seq, delivery);
  }

  /** The delivery that may run now where so many may at once, taken out of the line. */
  take(width: number): Delivery | undefined {
    if (this.busy >= width) return undefined;
    if (!this.#holders) return this.queue.shift();
    const next = width === 1 ? this.firstHolder : this.#nextDue();
    const due = next === undefined ? undefined : this.#due?.get(next);
    if (due) {
      this.#due?.delete(due.seq);
      this.hold(due.seq, 'runs');
      return due;
    }
    if (width === 1 || this.#dead > 0 || this.busy + this.#waiting >= width) return undefined;
    return this.queue.shift();
  }

  /** In a wide line they come as they became due, but for those behind a dead one. */
  #nextDue(): number | undefined {
    if (!this.#due || this.#due.size === 0) return undefined;
    if (this.#dead === 0) return earliestOf(this.#due.keys(), true);
    const dead = [...(this.#holders ?? [])].filter(([, state]) => state === 'dead').map(([seq]) => seq);
    const first = earliestOf(this.#due.keys(), false);
    return first < earliestOf(dead, false) ? first : undefined;
  }

  #count(state: HolderState | undefined, change: 1 | -1): void {
    if (state === 'dead') this.#dead += change;
    else if (state === 'waits') this.#waiting += change;
  }
}

// A key with a parked tail may have very many holders: they were loaded in order, so the first is the earliest.
function earliestOf(seqs: Iterable<number>, isSorted: boolean): number {
  let first = Infinity;
  for (const seq of seqs) {
    if (isSorted) return seq;
    first = Math.min(first, seq);
  }
  return first;
}
