import type { Effects } from '../../kernel/effects.ts';

/** How long nothing has been asked of a transaction. */
export class StatementActivity {
  readonly #effects: Effects;
  #running = 0;
  #lastMs: number;

  constructor(effects: Effects) {
    this.#effects = effects;
    this.#lastMs = effects.monoMs();
  }

  begun(): void {
    this.#running += 1;
  }

  ended(): void {
    this.#running -= 1;
    this.#lastMs = this.#effects.monoMs();
  }

  /** Milliseconds without a statement; 0 while one runs. */
  get restedMs(): number {
    return this.#running > 0 ? 0 : this.#effects.monoMs() - this.#lastMs;
  }

  /** What `work` gives, or a rejection with what `error` makes once nothing has been asked for `limitMs`. Leaves no timer. */
  async within<T>(limitMs: number, work: Promise<T>, error: () => Error): Promise<T> {
    let timer: unknown;
    const rested = new Promise<never>((_, reject) => {
      const look = (): void => {
        const leftMs = limitMs - this.restedMs;
        if (leftMs <= 0) reject(error());
        else timer = this.#effects.setTimer(look, Math.ceil(leftMs));
      };
      look();
    });
    try {
      return await Promise.race([work, rested]);
    } finally {
      this.#effects.clearTimer(timer);
    }
  }
}
