import type { StopReason } from './decide.ts';
import type { Failure } from './failure.ts';

interface About {
  readonly operation: string;
  /** The attempt under way or just ended, from 1. */
  readonly attempt: number;
  /** `Infinity` when another limit ends the retries. */
  readonly maxAttempts: number;
  readonly idempotencyKey: string | undefined;
}

/**
 * What happened in one retried operation, in order: `attempt-started`, one of the attempt's ends, then `wait-started`
 * and `wait-ended`, or `stopped`. Logs, span events and counters all come from these records, so they cannot disagree.
 */
export type RetryEvent = About &
  (
    | { readonly type: 'attempt-started' }
    | { readonly type: 'attempt-succeeded'; readonly latencyMs: number }
    | {
        readonly type: 'attempt-failed';
        readonly latencyMs: number;
        readonly failure: Failure;
        readonly error: unknown;
      }
    /** The function had not ended when its time was up. It may still be running; its result will be dropped. */
    | { readonly type: 'attempt-abandoned'; readonly latencyMs: number }
    | {
        readonly type: 'wait-started';
        readonly delayMs: number;
        readonly dueAtMs: number;
        readonly from: 'schedule' | 'hint';
        readonly hintClamped: boolean;
        readonly failure: Failure;
      }
    | { readonly type: 'wait-ended'; readonly aborted: boolean }
    | {
        readonly type: 'stopped';
        readonly reason: StopReason | 'aborted';
        readonly attempts: number;
        readonly waitedMs: number;
        readonly failure?: Failure;
      }
  );

/** Sees every event of an operation. It cannot change what happens: what it throws is ignored. */
export type RetryObserver = (event: RetryEvent) => void;

/** An event without what is the same for the whole operation. */
export type Happening = RetryEvent extends infer Event
  ? Event extends RetryEvent
    ? Omit<Event, keyof About>
    : never
  : never;
