import { OptionCheck } from '../kernel/check-options.ts';
import type { Effects } from '../kernel/effects.ts';
import { systemEffects } from '../system/effects.ts';
import { answerWithin } from './answer-within.ts';
import type { IdempotencyObserver } from './idempotency-event.ts';
import type {
  AtomicIdempotencyStore,
  Claim,
  ClaimAnswer,
  IdempotencyRecord,
  IdempotencyStore,
} from './idempotency-store.ts';
import type { CachedAbout, CachedReply, ReplyCache } from './reply-cache.ts';

/** What `layered` takes. The cache and the truth must be given; times are in milliseconds. */
export interface LayeredOptions {
  /** Answers repetitions: `redisReplyCache(…)`. May lose anything at any time. */
  readonly cache: ReplyCache;
  /** Decides who runs and how it ended: `postgresIdempotency(…)`. */
  readonly truth: IdempotencyStore;
  /** How long to wait for the cache. Default 50. */
  readonly cacheTimeoutMs?: number | undefined;
  /** How long the cache is left alone after it failed, so that one that hangs costs one wait in this time. Default 5,000. */
  readonly pauseMs?: number | undefined;
  /** Are told when the cache fails. Default: none. */
  readonly observers?: readonly IdempotencyObserver[] | undefined;
  /** Clock and timers; for tests. */
  readonly effects?: Effects | undefined;
}

const CACHE_TIMEOUT_MS = 50;
const PAUSE_MS = 5_000;
// What a claim met may be near its end, and the store's clock is not known here: for so long a reply may be answered after its record
// has expired. A retry storm is over by then.
const MET_TTL_MS = 60_000;

/**
 * A store whose finished replies are answered by a cache, and everything else by the truth. Without the cache it is as the truth alone,
 * only slower; without the truth, replies that the cache has are still answered, and nothing is let in.
 */
export function layered<Tx>(
  options: LayeredOptions & { readonly truth: AtomicIdempotencyStore<Tx> },
): AtomicIdempotencyStore<Tx>;
export function layered(options: LayeredOptions): IdempotencyStore;
export function layered(options: LayeredOptions): IdempotencyStore {
  checkLayeredOptions(options);
  const { truth } = options;
  const replies = new CachedReplies(options);
  const store: IdempotencyStore = {
    claim: async (claim) => {
      const cached = await replies.get(claim);
      if (cached) return answerFrom(cached, claim);
      const answer = await truth.claim(claim);
      if (answer.kind === 'finished') replies.putMet(claim, answer);
      return answer;
    },
    renew: (claim) => truth.renew(claim),
    end: async (claim, end) => {
      const answer = await truth.end(claim, end);
      if (answer === 'ended' && end.kind === 'finish') replies.putEnded(claim, truth);
      return answer;
    },
    find: (id) => truth.find(id),
    erase: async (person) => {
      const count = await truth.erase(person);
      // Not bounded here, and not skipped: somebody was promised that it is gone.
      await replies.erase(person);
      return count;
    },
    reap: (limit) => truth.reap(limit),
  };
  return isAtomic(truth) ? { ...store, ...atomicCalls(truth, replies) } : store;
}

function atomicCalls<Tx>(
  truth: AtomicIdempotencyStore<Tx>,
  replies: CachedReplies,
): Pick<AtomicIdempotencyStore<Tx>, 'commit' | 'transaction'> {
  return {
    commit: async (claim, work) => {
      const answer = await truth.commit(claim, work);
      if (answer.kind === 'ended') replies.putEnded(claim, truth);
      return answer;
    },
    transaction: (work) => truth.transaction(work),
  };
}

function isAtomic(truth: IdempotencyStore): truth is AtomicIdempotencyStore<unknown> {
  return 'commit' in truth && typeof truth.commit === 'function';
}

function answerFrom(cached: CachedReply, claim: Claim): ClaimAnswer {
  if (cached.fingerprint !== claim.fingerprint) return { kind: 'mismatch' };
  const { status, reply, finishedAt, expiresAt } = cached;
  return { kind: 'finished', status, reply, finishedAt, expiresAt };
}

/** A cache that may fail: bounded in time, left alone for a while after a failure, and never waited for when something is put. */
class CachedReplies {
  readonly #cache: ReplyCache;
  readonly #effects: Effects;
  readonly #timeoutMs: number;
  readonly #pauseMs: number;
  readonly #observers: readonly IdempotencyObserver[];
  #pausedUntilMs = -Infinity;
  #hasFailed = false;

  constructor(options: LayeredOptions) {
    this.#cache = options.cache;
    this.#effects = options.effects ?? systemEffects;
    this.#timeoutMs = options.cacheTimeoutMs ?? CACHE_TIMEOUT_MS;
    this.#pauseMs = options.pauseMs ?? PAUSE_MS;
    this.#observers = options.observers ?? [];
  }

  get({ id, person }: Claim): Promise<CachedReply | undefined> {
    return this.#ask('get', () => this.#cache.get({ id, person }));
  }

  /** What a claim has just met. */
  putMet({ id, person, fingerprint }: Claim, answer: ClaimAnswer & { kind: 'finished' }): void {
    const { status, reply, finishedAt, expiresAt } = answer;
    if (reply === null) return;
    const ttlMs = Math.min(MET_TTL_MS, (expiresAt - finishedAt) / 10);
    void this.#put({ id, person }, { fingerprint, status, reply, finishedAt, expiresAt }, ttlMs);
  }

  /**
   * What has just ended, as the truth has it: when the person was erased meanwhile, nothing of the reply may come back from here; and
   * an end that was told before counts, not this one.
   */
  putEnded({ id, person }: Claim, truth: IdempotencyStore): void {
    if (this.#isPaused()) return;
    const put = async (record: IdempotencyRecord | undefined): Promise<void> => {
      if (!record || record.reply === null || record.person !== person) return;
      const { fingerprint, status, reply, updatedAt: finishedAt, expiresAt } = record;
      if (status !== 'completed' && status !== 'failed') return;
      const keptMs = expiresAt - finishedAt;
      // It must be gone before the record is, however long it takes to get there.
      const ttlMs = keptMs - Math.min(MET_TTL_MS, keptMs / 10);
      await this.#put({ id, person }, { fingerprint, status, reply, finishedAt, expiresAt }, ttlMs);
    };
    // A truth that fails here has nothing to do with the run, which is over.
    truth
      .find(id)
      .then(put)
      .catch(() => undefined);
  }

  async erase(person: string): Promise<void> {
    try {
      await this.#cache.erase(person);
    } catch (error) {
      this.#tell('erase', error);
      throw error;
    }
  }

  async #put(about: CachedAbout, cached: CachedReply, ttlMs: number): Promise<void> {
    const wholeMs = Math.floor(ttlMs);
    if (wholeMs > 0) await this.#ask('put', () => this.#cache.put(about, cached, wholeMs));
  }

  async #ask<T>(during: 'get' | 'put', ask: () => Promise<T>): Promise<T | undefined> {
    if (this.#isPaused()) return undefined;
    const pause = (): void => void (this.#pausedUntilMs = this.#effects.monoMs() + this.#pauseMs);
    // After a pause one tries, and the others go on without it until that one knows.
    if (this.#hasFailed) pause();
    try {
      const answer = await answerWithin(this.#effects, this.#timeoutMs, `${during} of the cache`, ask);
      if (this.#hasFailed) this.#pausedUntilMs = -Infinity;
      this.#hasFailed = false;
      return answer;
    } catch (error) {
      pause();
      this.#hasFailed = true;
      this.#tell(during, error);
      return undefined;
    }
  }

  #isPaused(): boolean {
    return this.#effects.monoMs() < this.#pausedUntilMs;
  }

  #tell(during: 'get' | 'put' | 'erase', error: unknown): void {
    for (const observer of this.#observers) {
      try {
        observer({ kind: 'cache-failed', during, error });
      } catch {
        // What an observer throws is its own affair.
      }
    }
  }
}

function checkLayeredOptions(options: LayeredOptions): void {
  const check = new OptionCheck('layered()');
  if (check.object('options', options, 'pass { cache, truth }')) {
    check.known(options, ['cache', 'truth', 'cacheTimeoutMs', 'pauseMs', 'observers', 'effects']);
    const { cache, truth, cacheTimeoutMs, pauseMs } = options;
    if (!has(cache, 'get', 'put', 'erase')) check.refuse('cache', cache, 'pass a cache of replies: redisReplyCache(…)');
    if (!has(truth, 'claim', 'end')) check.refuse('truth', truth, 'pass a store: postgresIdempotency(…)');
    const write = 'write milliseconds from 1';
    if (cacheTimeoutMs !== undefined) check.number('cacheTimeoutMs', cacheTimeoutMs, { min: 1, max: 60_000, write });
    if (pauseMs !== undefined) {
      check.number('pauseMs', pauseMs, { min: 0, max: 3_600_000, write: 'write milliseconds from 0 to an hour' });
    }
  }
  check.done();
}

function has(value: unknown, ...names: readonly string[]): boolean {
  return (
    typeof value === 'object' && value !== null && names.every((name) => typeof Reflect.get(value, name) === 'function')
  );
}
