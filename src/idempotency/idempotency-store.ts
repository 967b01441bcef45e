/** What was answered: facts as JSON text that only the writer understands, and bytes if there were any. */
export interface KeptReply {
  readonly head: string;
  readonly body: Uint8Array | undefined;
}

/** Who asks to run, and what for. One object serves the claim and everything after it. */
export interface Claim {
  /** SHA-256 of service, domain, person and key, as base64url. The key itself is not stored. */
  readonly id: string;
  /** What the key is for: `POST /orders`, `charge-card`. For operators; part of the id. */
  readonly domain: string;
  /** SHA-256 of service and who asked, as base64url, for erasing by person. `null`: nobody in particular. */
  readonly person: string | null;
  /** A keyed digest of the request. Two requests with one key and different fingerprints are not the same request. */
  readonly fingerprint: string;
  /** Made for this one claim. Whoever claims again with the same owner is told the same: a lost answer may be asked for again. */
  readonly owner: string;
  /** How long this claim holds without a renewal, by the store's clock. */
  readonly leaseMs: number;
  /** How long the record is kept, from its claim on and again from its end on. */
  readonly keepMs: number;
  /** Whether to take over from an owner whose lease has ended, or whose outcome is unknown. */
  readonly takeUnknown: boolean;
}

/** What a claim met. Whatever the state, another fingerprint is told as `mismatch`: nothing of the record is shown then. */
export type ClaimAnswer =
  /** Run. `run` is 1 the first time, and one more for each take-over. */
  | { readonly kind: 'claimed'; readonly run: number }
  | { readonly kind: 'mismatch' }
  /** Somebody runs. `leaseLeftMs` is at least 1. */
  | { readonly kind: 'running'; readonly leaseLeftMs: number }
  /** It began, and nobody knows how it ended. */
  | { readonly kind: 'unknown'; readonly run: number }
  | FinishedAnswer;

/** It has ended. `reply` is `null` when it was erased. Times are milliseconds of the epoch by the store's clock. */
export interface FinishedAnswer {
  readonly kind: 'finished';
  readonly status: FinishedStatus;
  readonly reply: KeptReply | null;
  readonly finishedAt: number;
  readonly expiresAt: number;
}

/** How a run ended: as it should, or with an error that is kept and answered again. */
export type FinishedStatus = 'completed' | 'failed';

/** How a run ends. */
export type RunEnd =
  | { readonly kind: 'finish'; readonly status: FinishedStatus; readonly reply: KeptReply }
  /** Nothing was done: the record goes, and the next claim runs. */
  | { readonly kind: 'release' }
  /** Something may have been done: the record stays as `unknown`. */
  | { readonly kind: 'doubt' };

/** `ended`, also when the same owner had ended it before; `late` when it has another owner by now: nothing was changed. */
export type EndAnswer = 'ended' | 'late';

/** A record as operators see it. */
export interface IdempotencyRecord {
  readonly id: string;
  readonly domain: string;
  readonly person: string | null;
  readonly status: 'processing' | 'unknown' | FinishedStatus;
  readonly run: number;
  readonly fingerprint: string;
  readonly reply: KeptReply | null;
  /** Milliseconds of the epoch by the store's clock. */
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly expiresAt: number;
}

/**
 * Where idempotency records are. Each call is one round trip, takes effect wholly or not at all, goes by the store's own clock, and
 * may be repeated by the same owner when its answer was lost. The rules are those of `record-rules.ts`; the contract in
 * `holdfast/testing` checks them. A store that cannot answer rejects; it never guesses.
 */
export interface IdempotencyStore {
  claim(claim: Claim): Promise<ClaimAnswer>;
  /** Holds for another `leaseMs`, also when the lease had ended and nobody has taken over. False: it has another owner or an end. */
  renew(claim: Claim): Promise<boolean>;
  /** A record that has vanished meanwhile (evicted, flushed) is written anew, so that what was done is known. */
  end(claim: Claim, end: RunEnd): Promise<EndAnswer>;
  find(id: string): Promise<IdempotencyRecord | undefined>;
  /**
   * Forgets what was answered to a person, and who it was; running ones will keep no reply. That something was done stays known,
   * so that it is not done again. Answers how many records there were.
   */
  erase(person: string): Promise<number>;
  /** Removes up to `limit` records that have expired, where the store does not do that by itself. Answers how many. */
  reap(limit: number): Promise<number>;
}

/** A store whose records can change together with the application's data. */
export interface AtomicIdempotencyStore<Tx> extends IdempotencyStore {
  /**
   * Runs `work` in a transaction and ends the run in it: both are committed, or neither. `work` answers its value and the end. Rejects
   * with what `work` threw, having rolled back. `late`: it has another owner by now, or has ended before, and was rolled back.
   * When the answer to the commit is lost, it finds out what became of it before it answers. Where transactions are stricter than
   * `read committed`, `work` may be run again.
   */
  commit<T>(
    claim: Claim,
    work: (tx: Tx) => Promise<{ readonly value: T; readonly end: RunEnd }>,
  ): Promise<{ readonly kind: 'ended'; readonly value: T } | { readonly kind: 'late' }>;
  /** A transaction without a record, for what is not guarded. */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
}
