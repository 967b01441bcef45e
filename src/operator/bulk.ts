import type { DeadLetter } from './operator-records.ts';
import type { By, DeadLetterFilter, Page, Paging } from './operator.ts';

/** `republish`: messages that were published go to the broker again, because it lost them. The others are about dead letters. */
export const BULK_VERBS = ['replay', 'discard', 'republish'] as const;

export type BulkVerb = (typeof BULK_VERBS)[number];

/**
 * `planned`: the selection is frozen, nothing has begun; forgotten after an hour. `canary`: the first few are on their way, the
 * rest waits for them. `running`. `paused`: by hand, or because a canary failed. `cancelled`: what had not begun never will.
 * `done`: every item has its outcome.
 */
export const BULK_STATES = ['planned', 'canary', 'running', 'paused', 'cancelled', 'done'] as const;

export type BulkState = (typeof BULK_STATES)[number];

/**
 * `selected`: not begun. `started`: runs again. `succeeded`, `failed`: how that ended. `discarded`. `skipped`: no longer failed
 * when its turn came: somebody else had dealt with it. `dropped`: the operation was cancelled before.
 */
export const BULK_OUTCOMES = ['selected', 'started', 'succeeded', 'failed', 'discarded', 'skipped', 'dropped'] as const;

export type BulkOutcome = (typeof BULK_OUTCOMES)[number];

/**
 * Which dead letters: those that fit now, not those that come later. Of a republish: which published messages, by `service`, `handler`,
 * `type`, `key`, `since` and `until` (when they were published); `handler` (`to-<transport>`) and `since` must be given.
 */
export type BulkFilter = DeadLetterFilter & {
  /** Dead letters by their ids, at most 1,000; with other fields: those of them that fit. */
  readonly ids?: readonly string[] | undefined;
};

/** What is to be done to many. */
export interface BulkRequest {
  readonly verb: BulkVerb;
  readonly filter: BulkFilter;
  /** At most so many, the oldest failure first; of a republish in the order they were sent: 1 to 1,000,000. Default 100,000. */
  readonly limit?: number | undefined;
  /** So many first; the rest goes on only if all of them succeed. 0 (none) to 1,000. Default 0. Not of a discard. */
  readonly canary?: number | undefined;
  /** At most so many a second are started: 0.1 to 10,000. Default: as fast as they can be written. */
  readonly perSecond?: number | undefined;
  /** Of replays and republishes: the generation to process them in. Default: the one each has. */
  readonly generation?: number | undefined;
}

/** What a replay would meet at one handler. */
export interface BulkForecast {
  readonly service: string;
  readonly handler: string;
  readonly count: number;
  /** Different keys among them; those without a key are one each. */
  readonly keys: number;
  /** Live workers that serve it: with none, nothing will run. */
  readonly workers: number;
  readonly isPaused: boolean;
  /** Its breaker is open: they wait until the dependency answers again. */
  readonly isBreakerOpen: boolean;
  /** Messages that wait behind them and go on once they succeed. */
  readonly behind: number;
}

/** A bulk operation: a durable record that any process carries on. */
export interface Bulk {
  /** UUID. */
  readonly id: string;
  readonly verb: BulkVerb;
  readonly state: BulkState;
  readonly filter: BulkFilter;
  readonly canary: number;
  readonly perSecond: number | undefined;
  readonly generation: number | undefined;
  readonly actor: string;
  readonly reason: string | undefined;
  readonly createdAt: Date;
  readonly startedAt: Date | undefined;
  readonly endedAt: Date | undefined;
  /** Why it stands still, in words; only while `paused`. */
  readonly pausedFor: string | undefined;
  /** More would have fitted than `limit` allowed. */
  readonly isCut: boolean;
  /** How many items there are, and how many have each outcome. They add up to `total`. */
  readonly total: number;
  readonly counts: Readonly<Record<BulkOutcome, number>>;
}

/** One dead letter of a bulk operation, or one published message. */
export interface BulkItem {
  /** A dead letter's id; of a republish the id of the message and the number of the handler, in the same form. */
  readonly id: string;
  readonly messageId: string;
  readonly service: string;
  readonly handler: string;
  readonly type: string | undefined;
  readonly key: string | undefined;
  readonly outcome: BulkOutcome;
  readonly isCanary: boolean;
  readonly startedAt: Date | undefined;
  readonly endedAt: Date | undefined;
  /** Of what failed again: the error, and the group it is in now. */
  readonly error: { readonly name: string; readonly code: string | undefined; readonly message: string } | undefined;
  readonly group: string | undefined;
}

export type BulkChanged =
  | { readonly kind: 'changed'; readonly bulk: Bulk }
  /** Its state does not allow it. */
  | { readonly kind: 'refused'; readonly bulk: Bulk; readonly problem: string }
  | { readonly kind: 'not-found' };

/** One act on many dead letters or published messages, that survives restarts and touches each item once. */
export interface BulkOperations {
  /**
   * Freezes what fits now and tells what would happen; nothing else is changed. Start it with `startBulk` within an hour.
   * `sample`: the first ten dead letters; none of a republish. `completeSince`, of a republish alone: what was published from then on is
   * still known here and can be published again; absent: everything is known.
   */
  planBulk(
    request: BulkRequest,
    by: By,
  ): Promise<{
    readonly kind: 'planned';
    readonly bulk: Bulk;
    readonly sample: readonly DeadLetter[];
    readonly forecast: readonly BulkForecast[];
    readonly completeSince?: Date | undefined;
  }>;
  /** Begins with what was planned, and only that. A discard needs a reason. */
  startBulk(id: string, by: By): Promise<BulkChanged>;
  /** What has begun goes on; nothing further begins. */
  pauseBulk(id: string, by: By): Promise<BulkChanged>;
  /** Goes on; after a failed canary, with all that is left. */
  resumeBulk(id: string, by: By): Promise<BulkChanged>;
  /** What has begun goes on; the rest never begins. */
  cancelBulk(id: string, by: By): Promise<BulkChanged>;
  bulk(id: string): Promise<{ readonly kind: 'found'; readonly bulk: Bulk } | { readonly kind: 'not-found' }>;
  /** The newest first. Planned ones that were never started are left out unless asked for by `state`. */
  bulks(filter?: Paging & { readonly state?: BulkState | undefined }): Promise<Page<Bulk>>;
  /** In the order they begin. */
  bulkItems(id: string, filter?: Paging & { readonly outcome?: BulkOutcome | undefined }): Promise<Page<BulkItem>>;
  /**
   * Carries on what is due: starts items as the pace allows and looks how started ones ended. Relays and `holdfast serve` call it
   * all the time; any number may at once. Answers when it should be called again, in milliseconds; absent: nothing is going on.
   */
  stepBulks(): Promise<{ readonly started: number; readonly ended: number; readonly againInMs: number | undefined }>;
}
