import type { Effects } from '../kernel/effects.ts';
import { answerWithin } from './answer-within.ts';
import type { IdempotencyAbout, IdempotencyEvent, IdempotencyObserver, StoreCall } from './idempotency-event.ts';
import type { AtomicIdempotencyStore, IdempotencyStore } from './idempotency-store.ts';

/** The store as the core calls it: every call bounded in time, and every failure told. */
export class StoreCalls<Tx> {
  readonly store: IdempotencyStore;
  /** The same store, when its records can change together with the application's data. */
  readonly atomic: AtomicIdempotencyStore<Tx> | undefined;
  readonly effects: Effects;
  readonly #timeoutMs: number;
  readonly #observers: readonly IdempotencyObserver[];

  constructor(options: {
    readonly store: IdempotencyStore;
    readonly effects: Effects;
    readonly timeoutMs: number;
    readonly observers: readonly IdempotencyObserver[];
  }) {
    this.store = options.store;
    this.atomic = isAtomic<Tx>(options.store) ? options.store : undefined;
    this.effects = options.effects;
    this.#timeoutMs = options.timeoutMs;
    this.#observers = options.observers;
  }

  /** What the store answers. Rejects with what it rejected with, or with `IDEMPOTENCY_STORE_TIMEOUT`. */
  call<T>(
    during: StoreCall,
    about: IdempotencyAbout | undefined,
    ask: () => Promise<T>,
    timeoutMs: number = this.#timeoutMs,
  ): Promise<T> {
    const onFailure = (error: unknown): void => this.tell({ kind: 'store-failed', about, during, error });
    return answerWithin(this.effects, timeoutMs, during, ask, onFailure);
  }

  tell(event: IdempotencyEvent): void {
    for (const observer of this.#observers) {
      try {
        observer(event);
      } catch {
        // A broken counter must not turn a payment that went through into one that is made again.
      }
    }
  }
}

function isAtomic<Tx>(store: IdempotencyStore): store is AtomicIdempotencyStore<Tx> {
  return 'commit' in store && typeof store.commit === 'function';
}
