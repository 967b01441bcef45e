/** A timer that was set. */
export interface Timer {
  readonly dueMs: number;
  readonly order: number;
  readonly wake: () => void;
  isSet: boolean;
}

/** Timers by when they are due, and those of one moment in the order they were set. */
export class TimerQueue {
  readonly #heap: Timer[] = [];
  #order = 0;
  #pending = 0;

  /** Timers that are set and neither fired nor cleared. */
  get pending(): number {
    return this.#pending;
  }

  set(wake: () => void, dueMs: number): Timer {
    const timer: Timer = { wake, dueMs, order: this.#order++, isSet: true };
    insert(this.#heap, timer);
    this.#pending += 1;
    return timer;
  }

  /** The earliest that is still set. */
  next(): Timer | undefined {
    while (this.#heap[0] && !this.#heap[0].isSet) takeFirst(this.#heap);
    return this.#heap[0];
  }

  unset(timer: Timer): void {
    if (timer.isSet) this.#pending -= 1;
    timer.isSet = false;
  }
}

function isBefore(a: Timer, b: Timer): boolean {
  return a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order);
}

/** Puts a timer into the heap: each one is due before the two below it. */
function insert(heap: Timer[], timer: Timer): void {
  let at = heap.length;
  for (; at > 0; at = (at - 1) >> 1) {
    const above = heap[(at - 1) >> 1];
    if (!above || !isBefore(timer, above)) break;
    heap[at] = above;
  }
  heap[at] = timer;
}

/** Takes the earliest out: the last one sinks to its place from the top. */
function takeFirst(heap: Timer[]): void {
  const last = heap.pop();
  if (!last || heap.length === 0) return;
  let at = 0;
  for (;;) {
    const left = heap[2 * at + 1];
    const right = heap[2 * at + 2];
    if (!left) break;
    const isRight = right !== undefined && isBefore(right, left);
    const least = isRight ? right : left;
    if (!isBefore(least, last)) break;
    heap[at] = least;
    at = 2 * at + (isRight ? 2 : 1);
  }
  heap[at] = last;
}
