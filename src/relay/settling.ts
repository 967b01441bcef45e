/** Results of one unit that are on their way to the database, by place in line and with their keys. */
export class Settling {
  readonly #keys = new Map<number, string | undefined>();
  #waiting: { readonly key: string; readonly resolve: () => void }[] = [];

  get size(): number {
    return this.#keys.size;
  }

  has(seq: number): boolean {
    return this.#keys.size > 0 && this.#keys.has(seq);
  }

  add(seq: number, key: string | undefined): void {
    this.#keys.set(seq, key);
  }

  /** It is written, or refused. */
  remove(seq: number, key: string | undefined): void {
    this.#keys.delete(seq);
    if (this.#waiting.length === 0 || [...this.#keys.values()].includes(key)) return;
    for (const waiting of this.#waiting.filter((one) => one.key === key)) waiting.resolve();
    this.#waiting = this.#waiting.filter((one) => one.key !== key);
  }

  /** Resolves when no result of this key is on its way; nothing when none is. */
  whenNoneOf(key: string): Promise<void> | undefined {
    for (const settling of this.#keys.values()) {
      if (settling === key) return new Promise((resolve) => this.#waiting.push({ key, resolve }));
    }
    return undefined;
  }
}
