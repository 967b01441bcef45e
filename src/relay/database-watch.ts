import { isHoldfastError } from '../kernel/error.ts';
import type { RelaySession } from './relay-store.ts';

/**
 * Knows whether the database was there all the time: another text than before, or none, means that it was restarted, failed over or is
 * out of reach, for everyone.
 */
export class DatabaseWatch {
  readonly #session: Pick<RelaySession<never>, 'incarnation'>;
  #known: string | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #next: Promise<string | undefined> | undefined;

  constructor(session: Pick<RelaySession<never>, 'incarnation'>) {
    this.#session = session;
  }

  /** As it was when it was looked at last. */
  get known(): string | undefined {
    return this.#known;
  }

  /**
   * Looks, not before it was called. One at a time, and those who ask meanwhile share the next: when the database goes away, thousands
   * of runs ask at once.
   */
  look(): Promise<string | undefined> {
    if (!this.#next) {
      this.#next = this.#last.then(() => {
        this.#next = undefined;
        return this.#look();
      });
      this.#last = this.#next;
    }
    return this.#next;
  }

  async #look(): Promise<string | undefined> {
    const ask = this.#session.incarnation;
    try {
      // Twice: a pool may give out the very connection whose loss is looked into, before it has noticed.
      this.#known = await ask().catch((error: unknown) => {
        if (isHoldfastError(error, 'DATABASE_TIMEOUT')) throw error;
        return ask();
      });
      return this.#known;
    } catch {
      return undefined;
    }
  }
}
