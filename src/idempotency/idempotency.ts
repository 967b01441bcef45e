import type { Effects } from '../kernel/effects.ts';
import { HoldfastError } from '../kernel/error.ts';
import { systemEffects } from '../system/effects.ts';
import { checkEntryRequest, checkIdempotencyOptions } from './check-idempotency-options.ts';
import { Entrance } from './entrance.ts';
import type { Entry, EntryRequest } from './entry.ts';
import type { IdempotencyObserver } from './idempotency-event.ts';
import type { AtomicIdempotencyStore, IdempotencyRecord, IdempotencyStore } from './idempotency-store.ts';
import { type OnceOptions, type OnceRun, runOnce } from './once.ts';
import { personId, recordId } from './record-id.ts';
import { StoreCalls } from './store-calls.ts';

/** What `idempotency` takes. All but the store and the name of the service may be left out; times are in milliseconds. */
export interface IdempotencyOptions {
  readonly store: IdempotencyStore;
  /** Whose keys these are: equal keys in two services are two things. */
  readonly service: string;
  /** How long a run that is not heard of counts as running. Default 30,000; a run says that it lives every third of it. */
  readonly leaseMs?: number | undefined;
  /** How long a record is kept. Default: 24 hours. */
  readonly keepMs?: number | undefined;
  /** How long a run may take before its signal is aborted and its claim no longer renewed. Default: 15 minutes. */
  readonly maxRunMs?: number | undefined;
  /** How long to wait for an answer of the store. Default 2,000. */
  readonly storeTimeoutMs?: number | undefined;
  /** What to do when no store answers: refuse, or run without any guard. Default `'refuse'`. */
  readonly whenStoreDown?: 'refuse' | 'run' | undefined;
  /** Are told what happens. Default: none. */
  readonly observers?: readonly IdempotencyObserver[] | undefined;
  /** Clock, timers and chance; for tests. */
  readonly effects?: Effects | undefined;
}

/** An `EntryRequest` as it is asked: what is left out is that of the service, and `unknown: 'tell'`, `waitMs: 0`. */
export type EntryOptions = Pick<EntryRequest, 'domain' | 'key' | 'person' | 'fingerprint'> & {
  readonly [K in 'unknown' | 'waitMs' | 'leaseMs' | 'keepMs' | 'maxRunMs' | 'whenStoreDown' | 'signal']?:
    | EntryRequest[K]
    | undefined;
};

/** Whose record. */
export type RecordName = Pick<EntryRequest, 'domain' | 'key' | 'person'>;

/** Makes things happen once. One for each service and process; made by `idempotency`. */
export interface Idempotency<Tx> {
  /** True when `commit` can be used: the store's records can change together with the application's data. */
  readonly canCommit: boolean;
  /**
   * Asks to run. Everything that can be met is an answer; it rejects only when the request itself cannot be right. Who is answered
   * `run` must end that run.
   */
  enter(request: EntryOptions): Promise<Entry<Tx>>;
  /**
   * Runs `work` once for a key and gives its value to everybody who asks with that key, as JSON gives it back: to the first one too.
   * A run that throws leaves nothing behind and may be repeated, unless `onThrow` says otherwise.
   */
  once<T>(key: string, work: (run: OnceRun<Tx>) => Promise<T>, options?: OnceOptions<T>): Promise<T>;
  /** A plain transaction of the store's database, without a record. Rejects with `IDEMPOTENCY_NOT_ATOMIC` where there are none. */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /** The record of a request, or nothing. Rejects with what the store rejected with, or with `IDEMPOTENCY_STORE_TIMEOUT`. */
  find(name: RecordName): Promise<IdempotencyRecord | undefined>;
  /**
   * Forgets what was answered to a person of this service; that it was done stays known. Answers how many records there were. Rejects
   * as `find` does when it is not certain that all is erased: call it again then.
   */
  erase(person: string): Promise<number>;
}

const DEFAULTS = {
  leaseMs: 30_000,
  keepMs: 86_400_000,
  maxRunMs: 900_000,
  storeTimeoutMs: 2_000,
  whenStoreDown: 'refuse',
} as const;

// Somebody waits for it, and a person may have many records.
const ERASE_TIMEOUT_MS = 60_000;

/**
 * Makes things happen once, with the records of `store`. Throws `INVALID_OPTIONS`. A store with transactions gives runs a `commit`
 * whose effects and record are written together.
 */
export function idempotency<Tx>(
  options: IdempotencyOptions & { readonly store: AtomicIdempotencyStore<Tx> },
): Idempotency<Tx>;
export function idempotency(options: IdempotencyOptions): Idempotency<never>;
export function idempotency<Tx>(options: IdempotencyOptions): Idempotency<Tx> {
  checkIdempotencyOptions(options);
  const { store, service, observers = [], effects = systemEffects } = options;
  const { leaseMs, keepMs, maxRunMs, storeTimeoutMs: timeoutMs, whenStoreDown } = withDefaults(options);
  const calls = new StoreCalls<Tx>({ store, effects, timeoutMs, observers });
  const entrance = new Entrance(service, calls);
  const own: Idempotency<Tx> = {
    canCommit: calls.atomic !== undefined,
    enter: (request) => {
      try {
        checkEntryRequest(request);
      } catch (error) {
        return Promise.reject(error);
      }
      return entrance.enter({
        domain: request.domain,
        key: request.key,
        person: request.person,
        fingerprint: request.fingerprint,
        unknown: request.unknown ?? 'tell',
        waitMs: request.waitMs ?? 0,
        leaseMs: request.leaseMs ?? leaseMs,
        keepMs: request.keepMs ?? keepMs,
        maxRunMs: request.maxRunMs ?? maxRunMs,
        whenStoreDown: request.whenStoreDown ?? whenStoreDown,
        signal: request.signal,
      });
    },
    once: async (key, work, once = {}) => runOnce(own, service, key, work, once),
    transaction: async (work) => {
      if (!calls.atomic) throw new HoldfastError('IDEMPOTENCY_NOT_ATOMIC', { domain: 'transaction' });
      return calls.atomic.transaction(work);
    },
    find: async ({ domain, key, person }) =>
      calls.call('find', undefined, () => store.find(recordId(service, domain, person, key))),
    erase: async (person) =>
      calls.call('erase', undefined, () => store.erase(personId(service, person)), ERASE_TIMEOUT_MS),
  };
  return own;
}

function withDefaults(options: IdempotencyOptions): { readonly [F in keyof typeof DEFAULTS]: Settled<F> } {
  return {
    leaseMs: options.leaseMs ?? DEFAULTS.leaseMs,
    keepMs: options.keepMs ?? DEFAULTS.keepMs,
    maxRunMs: options.maxRunMs ?? DEFAULTS.maxRunMs,
    storeTimeoutMs: options.storeTimeoutMs ?? DEFAULTS.storeTimeoutMs,
    whenStoreDown: options.whenStoreDown ?? DEFAULTS.whenStoreDown,
  };
}

type Settled<F extends keyof typeof DEFAULTS> = Exclude<IdempotencyOptions[F], undefined>;
