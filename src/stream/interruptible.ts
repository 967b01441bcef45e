/** What became of a piece of work. A value, so that an abort can be told from a failure without looking at error names. */
export type Ended<T> =
  | { readonly kind: 'value'; readonly value: T }
  | { readonly kind: 'threw'; readonly error: unknown };

/**
 * A signal and the work that hangs on it. The work ends for its reader in the same tick as the interruption, also when
 * it ignores the signal; what it settles with later is dropped.
 */
export class Interruptible {
  private readonly controller = new AbortController();
  private cut: ((ended: Ended<never>) => void) | undefined;

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** Aborts the signal and ends the work under way with its reason. Without a reason it is the platform's AbortError. */
  interrupt(reason?: unknown): void {
    if (this.signal.aborted) return;
    this.controller.abort(reason);
    this.cut?.({ kind: 'threw', error: this.signal.reason });
  }

  /** Starts the work, unless interrupted already, and waits for its end. Never rejects. One piece of work at a time. */
  run<T>(work: (signal: AbortSignal) => PromiseLike<T> | T): Promise<Ended<T>> {
    // One callback that is replaced, not a promise raced again and again: each race would leave its reactions behind.
    return new Promise((resolve) => {
      if (this.signal.aborted) return resolve({ kind: 'threw', error: this.signal.reason });
      const end = (ended: Ended<T>): void => {
        this.cut = undefined;
        resolve(ended);
      };
      this.cut = end;
      const threw = (error: unknown): void => end({ kind: 'threw', error });
      try {
        Promise.resolve(work(this.signal)).then((value) => end({ kind: 'value', value }), threw);
      } catch (error) {
        threw(error);
      }
    });
  }
}
