import type { FinishedStatus, KeptReply } from './idempotency-store.ts';

/** A finished record as a cache knows it: what is needed to answer again, and nothing of a record that is still open. */
export interface CachedReply {
  readonly fingerprint: string;
  readonly status: FinishedStatus;
  readonly reply: KeptReply;
  /** Milliseconds of the epoch by the clock of the store that holds the truth; handed out as they came in. */
  readonly finishedAt: number;
  readonly expiresAt: number;
}

/** Whose reply: the id of the record, and the hash of who asked (`Claim['person']`), so that a person's replies can be found. */
export interface CachedAbout {
  readonly id: string;
  readonly person: string | null;
}

/**
 * A place for finished replies that may forget any of them at any time: what it does not have is asked of the truth. It never says
 * that something runs or may run. A call that cannot be answered rejects; `layered` bounds each call in time and leaves the cache
 * alone for a while after a failure.
 */
export interface ReplyCache {
  /** One round trip. `undefined`: not here, or not any more. */
  get(about: CachedAbout): Promise<CachedReply | undefined>;
  /**
   * Kept for at most `ttlMs` from now on. Keeps nothing for a person that was erased in the last `ERASED_MS`, and does not reject for
   * it. Putting the same again is harmless: the reply of an id never changes while it is kept.
   */
  put(about: CachedAbout, cached: CachedReply, ttlMs: number): Promise<void>;
  /**
   * Removes everything kept for a person, and refuses what is put for them in the next `ERASED_MS`: a put that was under way must
   * not bring back what was erased. Resolves only when all of that is certain; may take as many round trips as it needs.
   */
  erase(person: string): Promise<void>;
}

/** How long a cache remembers that a person was erased: longer than any put can be under way. */
export const ERASED_MS = 900_000;
