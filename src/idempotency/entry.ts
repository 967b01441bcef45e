import type { EndAnswer, FinishedAnswer, RunEnd } from './idempotency-store.ts';

/** What somebody wants to do once. */
export interface EntryRequest {
  /** What the key is for: `POST /orders`, `charge-card`. Equal keys in two domains are two things. */
  readonly domain: string;
  /** As the caller wrote it. */
  readonly key: string;
  /** Who asks, so that nobody is answered with somebody else's reply. `null`: the key alone says it. */
  readonly person: string | null;
  /** A digest of what is asked for. The record gets a keyed digest of it. */
  readonly fingerprint: string;
  /** What to do when it began before and nobody knows how it ended: say so, or run again under this claim. */
  readonly unknown: 'tell' | 'take';
  /** How long to wait for one that runs, before `running` is answered. 0: not at all. */
  readonly waitMs: number;
  readonly leaseMs: number;
  readonly keepMs: number;
  /** After this time the lease is not renewed any more, and the signal of the run is aborted. */
  readonly maxRunMs: number;
  readonly whenStoreDown: 'refuse' | 'run';
  /** Stops waiting. */
  readonly signal?: AbortSignal | undefined;
}

/** What became of a request to run. */
export type Entry<Tx> =
  | { readonly kind: 'run'; readonly run: OpenRun<Tx> }
  | { readonly kind: 'mismatch' }
  | { readonly kind: 'running'; readonly leaseLeftMs: number }
  | { readonly kind: 'unknown'; readonly number: number }
  | FinishedAnswer
  /** No store answered in time, and running unguarded was not chosen. */
  | { readonly kind: 'store-down'; readonly error: unknown }
  /** No store answered in time, and running unguarded was chosen. */
  | { readonly kind: 'unguarded'; readonly error: unknown };

/** `unconfirmed`: the store did not answer in time. It is told again in the background until it has. */
export type RunEnded = EndAnswer | 'unconfirmed';

/** What a run knows of itself. */
export interface RunFacts {
  /** 1 the first time; more when earlier runs were lost. */
  readonly number: number;
  /** Aborted when the run has lost its claim, or has taken too long. */
  readonly signal: AbortSignal;
  /** A key for a call to somebody else: the same in every run of this request, another for each step. 43 characters. */
  childKey(step: string): string;
}

/** A run that has been let in. It holds its lease until it ends; exactly one of `end` and `commit` ends it. */
export interface OpenRun<Tx> extends RunFacts {
  /** May be called twice: the first counts. Never rejects. */
  end(end: RunEnd): Promise<RunEnded>;
  /**
   * Runs `work` in a transaction of the store's database and ends the run in the same commit. Rejects with what `work` threw, the run
   * going on: it may be committed again, or ended. Rejects with `IDEMPOTENCY_NOT_ATOMIC` where the store has no transactions,
   * with `IDEMPOTENCY_LATE` when another run has taken over.
   */
  commit<T>(work: (tx: Tx) => Promise<{ readonly value: T; readonly end: RunEnd }>): Promise<T>;
}
