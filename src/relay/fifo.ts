/** First in, first out, at constant cost: `shift` on a long array moves all of it. */
export class Fifo<T> {
  #items: T[] = [];
  #head = 0;

  get size(): number {
    return this.#items.length - this.#head;
  }

  push(item: T): void {
    this.#items.push(item);
  }

  peek(): T | undefined {
    return this.#items[this.#head];
  }

  shift(): T | undefined {
    if (this.#head === this.#items.length) return undefined;
    const item = this.#items[this.#head];
    this.#items[this.#head++] = undefined as T;
    if (this.#head === this.#items.length) this.clear();
    else if (this.#head > 1_024 && this.#head * 2 > this.#items.length) this.#compact();
    return item;
  }

  /** Takes the items that fit out of the line, the others keep their order. */
  remove(fits: (item: T) => boolean): void {
    this.#compact();
    this.#items = this.#items.filter((item) => !fits(item));
  }

  /** Puts another item in the place of each. */
  replace(change: (item: T) => T): void {
    this.#compact();
    this.#items = this.#items.map(change);
  }

  clear(): void {
    this.#items.length = 0;
    this.#head = 0;
  }

  #compact(): void {
    this.#items = this.#items.slice(this.#head);
    this.#head = 0;
  }
}
