import { neverLeft, notActedOn } from './replay-guard.ts';

/**
 * What one attempt has learned. Each attempt has its own, and what comes after it was given up is not noted, so a late
 * answer is never taken for one to the next attempt.
 */
export class Progress {
  #status: number | undefined;
  #mayHaveActed = false;
  #followed = false;
  readonly #signal: AbortSignal;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /** Of the latest answer, once its first line is there. */
  get status(): number | undefined {
    return this.#status;
  }

  /** False only when the service certainly did nothing: nothing was sent, or it said so. */
  get mayHaveActed(): boolean {
    return this.#mayHaveActed;
  }

  /** True for the error that ended this attempt from outside: its own time limit, the deadline, or the caller. */
  wasEndedBy(error: unknown): boolean {
    return this.#signal.aborted && this.#signal.reason === error;
  }

  sending(): void {
    this.#mayHaveActed = true;
  }

  /** The request that was sent last got no answer. `code` says why. */
  unanswered(code: string): void {
    if (!this.#signal.aborted && !this.#followed && neverLeft(code)) this.#mayHaveActed = false;
  }

  answered(status: number): void {
    if (this.#signal.aborted) return;
    this.#status = status;
    if (!this.#followed && notActedOn(status)) this.#mayHaveActed = false;
  }

  /** From here on failures are those of another request; the one before it has been acted on. */
  followed(): void {
    this.#followed = true;
  }
}
