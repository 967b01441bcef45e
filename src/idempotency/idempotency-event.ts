import type { FinishedStatus } from './idempotency-store.ts';

/** What an event is about. */
export interface IdempotencyAbout {
  readonly service: string;
  /** `POST /orders`, `charge-card`. Few: it is a label of metrics. */
  readonly domain: string;
  /** As the caller wrote it. */
  readonly key: string;
  /** Of the record, as operators find it in the store. */
  readonly id: string;
}

/** What became of a request to run: exactly one is told for each. */
export type EntryEvent =
  /** Let in, nothing was known of it. */
  | { readonly kind: 'first'; readonly about: IdempotencyAbout; readonly run: number }
  /** Let in after a run that was lost. `run` is 2 or more. */
  | { readonly kind: 'taken-over'; readonly about: IdempotencyAbout; readonly run: number }
  /** Answered with what was kept; `isKept` is false when the reply was erased. `finishedAt` is in milliseconds of the epoch. */
  | {
      readonly kind: 'replayed';
      readonly about: IdempotencyAbout;
      readonly status: FinishedStatus;
      readonly isKept: boolean;
      readonly finishedAt: number;
    }
  | { readonly kind: 'in-flight'; readonly about: IdempotencyAbout; readonly leaseLeftMs: number }
  | { readonly kind: 'mismatch'; readonly about: IdempotencyAbout }
  /** It began before and nobody knows how it ended; `run` is the number of that run. */
  | { readonly kind: 'unknown'; readonly about: IdempotencyAbout; readonly run: number }
  /** Refused, because no store answered. */
  | { readonly kind: 'store-down'; readonly about: IdempotencyAbout; readonly error: unknown }
  /** Let in without any guard, because no store answered and that was chosen. */
  | { readonly kind: 'unguarded'; readonly about: IdempotencyAbout; readonly error: unknown };

/** What became of a run that was let in. `run` is its number, `runMs` how long it took. */
export type RunEvent =
  /** Kept and confirmed by the store. */
  | {
      readonly kind: 'finished';
      readonly about: IdempotencyAbout;
      readonly run: number;
      readonly runMs: number;
      readonly status: FinishedStatus;
    }
  /** Nothing was done: the next one runs. */
  | { readonly kind: 'released'; readonly about: IdempotencyAbout; readonly run: number; readonly runMs: number }
  /** Something may have been done: the next one is told that nobody knows. */
  | { readonly kind: 'doubted'; readonly about: IdempotencyAbout; readonly run: number; readonly runMs: number }
  /** It ended after another had taken over: its end was refused, and nothing was changed. */
  | { readonly kind: 'late'; readonly about: IdempotencyAbout; readonly run: number; readonly runMs: number }
  /** It goes on, but has lost its claim (`taken`) or its time is up (`too-long`); its signal was aborted. */
  | {
      readonly kind: 'lost';
      readonly about: IdempotencyAbout;
      readonly run: number;
      readonly runMs: number;
      readonly why: 'taken' | 'too-long';
    }
  /** The store did not confirm its end; it is told again in the background, and `finished`, `released`, … follow then. */
  | {
      readonly kind: 'unconfirmed';
      readonly about: IdempotencyAbout;
      readonly run: number;
      readonly runMs: number;
      readonly error: unknown;
    };

/** Which call to the store. */
export type StoreCall = 'claim' | 'renew' | 'end' | 'commit' | 'find' | 'erase' | 'reap';

/** What idempotency tells: log lines, metrics and spans are all made from these. */
export type IdempotencyEvent =
  | EntryEvent
  | RunEvent
  /** Somebody waited for a run of another; what it was answered then is an event of its own. */
  | { readonly kind: 'waited'; readonly about: IdempotencyAbout; readonly waitedMs: number }
  /** A call to the store rejected, or was not answered in time. `about` is absent for calls that concern no one record. */
  | {
      readonly kind: 'store-failed';
      readonly about: IdempotencyAbout | undefined;
      readonly during: StoreCall;
      readonly error: unknown;
    }
  /** The cache of a layered store failed; it is left alone for a while, and the truth is asked. */
  | { readonly kind: 'cache-failed'; readonly during: 'get' | 'put' | 'erase'; readonly error: unknown }
  /** Expired records were removed. */
  | { readonly kind: 'reaped'; readonly count: number };

/** Is told what idempotency does, as it happens. What it throws is dropped. */
export type IdempotencyObserver = (event: IdempotencyEvent) => void;
