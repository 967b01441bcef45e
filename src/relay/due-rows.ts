// In each unit of a handler with lines: beyond it those that cannot run at once are made ready, a write for each.
const MAX_QUEUED = 128;

/**
 * The due rows of one unit that are known. They are read again with every read until they are run, so a few are kept in line; the others
 * are made ready, after which they are known as due rows for as long as a read may still show them so, and as ready ones are news.
 */
export class DueRows {
  readonly #queued = new Set<number>();
  readonly #liningUp = new Set<number>();
  readonly #fading = new Set<number>();

  /** How many a read shows again. */
  get size(): number {
    return this.#queued.size + this.#liningUp.size;
  }

  get isFull(): boolean {
    return this.#queued.size >= MAX_QUEUED;
  }

  /** Some are on their way to be ready. */
  get isWriting(): boolean {
    return this.#liningUp.size > 0;
  }

  isQueued(seq: number): boolean {
    return this.#queued.size > 0 && this.#queued.has(seq);
  }

  isLinedUp(seq: number): boolean {
    return this.#liningUp.has(seq) || this.#fading.has(seq);
  }

  queue(seq: number): void {
    this.#queued.add(seq);
  }

  unqueue(seq: number): void {
    this.#queued.delete(seq);
  }

  forgetQueued(): void {
    this.#queued.clear();
  }

  lineUp(seq: number): void {
    this.#liningUp.add(seq);
  }

  /** True: it was on its way to be ready, and is. `isReading`: a read that began before may show it as due. */
  settled(seq: number, isReading: boolean): boolean {
    const wasLinedUp = this.#liningUp.delete(seq);
    if (wasLinedUp && isReading) this.#fading.add(seq);
    return wasLinedUp;
  }

  faded(): void {
    this.#fading.clear();
  }
}
