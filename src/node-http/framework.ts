import type { RunFacts } from '../idempotency/entry.ts';

/** What a handler may use of its run, where the reply is made by writing to a response. */
export interface ResponseRun<Tx> extends RunFacts {
  /**
   * Runs `work` in a transaction of the store's database, and gives back what it returned. What it writes, what it sends through the
   * outbox and the reply it makes are committed together, or not at all; the reply is sent after that. Rejects with what `work`
   * threw; with `IDEMPOTENCY_LATE` when another run has taken over.
   */
  commit<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
}

/** What a guarded response must know of the framework that writes to it. */
export interface Framework {
  /** Notes what the framework keeps beside the response. What comes back puts that as it was: the transaction has failed. */
  readonly save?: (() => () => void) | undefined;
  /** Makes the reply of what `work` returned, where the framework does not make it by itself while `work` runs. */
  readonly reply?: ((returned: unknown) => Promise<void> | void) | undefined;
  /** The transaction is through and the reply goes out, with this status. */
  readonly committed?: ((returned: unknown, status: number) => void) | undefined;
  /** The client is gone, and the reply is to be made all the same. */
  readonly outlive?: (() => void) | undefined;
}
