import type { BreakerRecord } from './breaker-record.ts';
import type { AuditRecord, HandlerRecord } from './operator-records.ts';

export const OVERVIEW_RANGES = ['hour', 'day', 'week'] as const;

export type OverviewRange = (typeof OVERVIEW_RANGES)[number];

/** What happened in one step of time. Deliveries, summed over all processes. */
export interface OverviewPoint {
  /** When the step began. */
  readonly at: Date;
  /** Put in line. */
  readonly sent: number;
  readonly done: number;
  /** Failed attempts that are tried again. */
  readonly retried: number;
  /** Failed for good. */
  readonly dead: number;
  /**
   * Second effects that did not happen: messages a broker brought again, results that came too late. Not counted: a key that is sent, or
   * asked of `once`, again; that is told to whoever asks, in a transaction that may yet roll back.
   */
  readonly suppressed: number;
  /** Of those, results of a process that had lost its lease. */
  readonly refused: number;
  /** At the end of the step; absent where nobody looked. */
  readonly pending: number | undefined;
  readonly oldestMs: number | undefined;
}

/** Something that needs somebody. The worst first. */
export interface Attention {
  readonly kind:
    | 'paused'
    | 'no-worker'
    | 'late'
    | 'dead-letters'
    | 'breaker-open'
    | 'keys-held'
    | 'no-handler'
    | 'outbox-full'
    | 'bulk-paused'
    | 'not-sampled';
  /** One sentence. */
  readonly text: string;
  /** Where the console shows it, below its root: `dead-letters?handler=billing%2Fcharge`. */
  readonly link: string;
}

/** One handler in the overview's table. */
export interface HandlerOverview extends HandlerRecord {
  /** Ready, exact up to 10,000. */
  readonly pending: number;
  readonly waiting: number;
  /** Dead letters; exact while there are no more than 100,000 of all handlers. */
  readonly failed: number;
  /** Age of its oldest ready delivery. */
  readonly oldestMs: number | undefined;
  /** Of the last five minutes. */
  readonly donePerSecond: number;
  /** Failed attempts of all, 0 to 1; absent when none ended in the last five minutes. */
  readonly errorShare: number | undefined;
}

/** Is anything lost or late, and what needs somebody. Reads samples and indexes; it never counts a table. */
export interface Overview {
  readonly at: Date;
  /** "All good: oldest message 0.4 s", or "2 things need you". */
  readonly verdict: string;
  readonly attention: readonly Attention[];
  readonly range: OverviewRange;
  readonly stepMs: number;
  /** The oldest first, without gaps. */
  readonly points: readonly OverviewPoint[];
  readonly handlers: readonly HandlerOverview[];
  /** Those that are not closed. */
  readonly breakers: readonly BreakerRecord[];
  /** The last ten. */
  readonly audit: readonly AuditRecord[];
}
