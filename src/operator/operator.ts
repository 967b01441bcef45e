import type { AuditAnchor, AuditVerified } from './audit-verify.ts';
import type { Breakers } from './breaker-record.ts';
import type { BulkOperations } from './bulk.ts';
import type { Erasures } from './erasure.ts';
import type { ErrorGroups } from './error-group.ts';
import type { Forecast, PolicyLookup } from './forecast.ts';
import type { KeptLists } from './kept-lists.ts';
import type { Messages } from './message-list.ts';
import type {
  AuditRecord,
  AuditVerb,
  DeadLetter,
  DeadLetterStatus,
  HandlerRecord,
  HeldKey,
  MessageDetail,
  MessageSummary,
  OperatorStats,
} from './operator-records.ts';
import type {
  BadId,
  Cancelled,
  Discarded,
  Edited,
  Found,
  HandlerRefusal,
  Limited,
  NotFound,
  Paused,
  Released,
  Replayed,
  Resumed,
  Retired,
  Skipped,
} from './operator-outcomes.ts';
import type { Overview, OverviewRange } from './overview.ts';
import type { SystemRecord } from './system-record.ts';
import type { Traced, TraceOptions } from './trace.ts';
import type { DeliveryReason } from './why.ts';

/** Who changes something, and why: both stand in the audit. */
export interface By {
  /** A person's or program's name, 1 to 200 characters. */
  readonly actor: string;
  readonly reason?: string | undefined;
}

/** A part of a longer list. */
export interface Page<T> {
  readonly items: readonly T[];
  /** Where the next part begins; absent at the end. Pass it as `cursor`, with the same filter. */
  readonly next: string | undefined;
}

/** A part of a list of what was searched for. */
export interface FoundPage<T> extends Page<T> {
  /** What could not be looked into, in words: payloads that are sealed. Absent as a rule. */
  readonly note: string | undefined;
}

/** How much of a list, and from where. */
export interface Paging {
  /** 1 to 1,000. Default 100. */
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

/** Which dead letters. What is left out does not matter. */
export interface DeadLetterFilter {
  /** Whose handler failed. */
  readonly service?: string | undefined;
  /** A handler's name, or `service/name`. */
  readonly handler?: string | undefined;
  readonly type?: string | undefined;
  readonly key?: string | undefined;
  /** Took its status at or after this time. */
  readonly since?: Date | undefined;
  /** Took its status before this time. */
  readonly until?: Date | undefined;
  /** `code` of the last error, as it is written there. */
  readonly errorCode?: string | undefined;
  /** An error group's id. */
  readonly group?: string | undefined;
  /** Values in the payload; all of them must be there. Found by an index. */
  readonly payload?: readonly PayloadMatch[] | undefined;
  /** Part of the id, type, key, error message or payload, in any case. Reads what the other fields leave. */
  readonly search?: string | undefined;
}

/** A value at a place in the payload: `{ path: ['customer', 'id'], value: 42 }`. */
export interface PayloadMatch {
  readonly path: readonly string[];
  readonly value: string | number | boolean | null;
}

/** Which changes. What is left out does not matter. */
export interface AuditFilter {
  /** Of one message. A dead letter's id stands for its message. */
  readonly messageId?: string | undefined;
  /** Who did it, as it is written there. */
  readonly actor?: string | undefined;
  readonly verb?: AuditVerb | undefined;
  /** To or for this handler: its name, or `service/name`. */
  readonly handler?: string | undefined;
  /** At or after this time. */
  readonly since?: Date | undefined;
}

/** What a replay may be told. */
export interface ReplayOptions {
  /** The generation to process it in. Default: the one it has. */
  readonly generation?: number | undefined;
}

/** What a replay of one message may be told. */
export interface MessageReplayOptions extends ReplayOptions {
  /**
   * Only these: names, or `service/name`. One that failed is replayed, one whose delivery was discarded or cancelled gets it
   * back, one that never had the message gets it. Default: those that failed.
   */
  readonly handlers?: readonly string[] | undefined;
  /** Run the named handlers again although they succeeded: refused unless they are declared repeatable. Needs `handlers`. */
  readonly rerun?: boolean | undefined;
  /** With `rerun`: leave out those that succeeded and are not repeatable instead of refusing all; the outcome names them. */
  readonly skip?: boolean | undefined;
}

/**
 * What an operator can see and do; the command line, the console, the admin API and the agents' tools all stand on this.
 *
 * A change is applied as a whole or not at all. It meets the worker at the row: whoever commits first wins, and the other is
 * told so. Answers are values; only wrong options (`INVALID_OPTIONS`) and a database that does not answer are thrown.
 *
 * Where a handler is named, its name is enough unless two services have one of that name; then write `service/name`.
 */
export interface Operator extends BulkOperations, Breakers, Erasures, ErrorGroups, KeptLists, Messages {
  /** Dead letters, the newest first. Default status: `pending`, those that nobody has dealt with. */
  deadLetters(
    filter?: DeadLetterFilter & Paging & { readonly status?: DeadLetterStatus | undefined },
  ): Promise<FoundPage<DeadLetter>>;
  /** A message in one line. Takes a message id or a dead letter's id. */
  find(id: string): Promise<Found<MessageSummary> | NotFound | BadId>;
  /** All that is known of a message: its deliveries, failures, edits and audit. Takes either id. */
  show(id: string): Promise<Found<MessageDetail> | NotFound | BadId>;
  /** For each delivery the one reason why it is not done, with the next step. With a dead letter's id: of that one alone. */
  why(id: string): Promise<{ readonly kind: 'why'; readonly deliveries: readonly DeliveryReason[] } | NotFound | BadId>;
  /**
   * What is left of each open delivery's retry plan. Policies live in the handlers' code: without a lookup, or where it
   * answers nothing, the default of handlers is assumed.
   */
  forecast(id: string, policyOf?: PolicyLookup): Promise<Forecast | NotFound | BadId>;
  /**
   * Everything one action did, in the order of time, over all services of this database. Takes any id of it: of a request, event,
   * dead letter, command or run, an idempotency key, a broker's source id, or a user, whose latest actions are told then. The
   * beginning of an event's id will do where no other begins so.
   */
  trace(id: string, options?: TraceOptions): Promise<Traced>;

  /**
   * Replays a message in place: id and idempotency key stay, the failed cycle goes to the history, attempts begin anew.
   * With a dead letter's id: that delivery alone.
   */
  replay(id: string, by: By, options?: MessageReplayOptions): Promise<Replayed>;
  /** Replays the failed deliveries that fit, the oldest failure first, at most `limit` (1 to 10,000, default 100). */
  replayWhere(
    filter: DeadLetterFilter & { readonly limit?: number | undefined },
    by: By,
    options?: ReplayOptions,
  ): Promise<{ readonly kind: 'replayed'; readonly count: number }>;
  /** Replays all that failed or were parked of one key of one handler, in their order. `count` is 0 when none did. */
  replayKey(
    handler: string,
    key: string,
    by: By,
    options?: ReplayOptions,
  ): Promise<{ readonly kind: 'replayed'; readonly count: number } | HandlerRefusal>;
  /**
   * Gives up failed deliveries; the key goes on. With `open`, also those that have not failed: a message no handler takes,
   * or one that retries for too long. What runs at that moment is refused its result.
   */
  discard(
    id: string,
    by: By & { readonly reason: string },
    options?: { readonly handlers?: readonly string[] | undefined; readonly open?: boolean | undefined },
  ): Promise<Discarded>;
  /** Gives up all that failed or were parked of one key of one handler. `count` is 0 when none did. */
  discardKey(
    handler: string,
    key: string,
    by: By & { readonly reason: string },
  ): Promise<{ readonly kind: 'discarded'; readonly count: number } | HandlerRefusal>;
  /**
   * Changes the payload of a failed message and replays what failed. The old payload is kept, the version rises; refused once
   * any handler has succeeded with the old one. `version`: only if it is still at that version. Throws `PAYLOAD_INVALID` or
   * `PAYLOAD_TOO_LARGE`; whether the payload fits its event is seen by the handler.
   */
  edit(
    id: string,
    payload: unknown,
    by: By,
    options?: ReplayOptions & { readonly version?: number | undefined },
  ): Promise<Edited>;
  /** Takes back a scheduled message whose time has not come, from all its handlers: a dead letter's id is refused as `bad-id`. */
  cancel(id: string, by: By): Promise<Cancelled>;

  /** How much there is to do. `countDelivered` counts the history too, which reads all of it. Default false. */
  stats(options?: { readonly countDelivered?: boolean | undefined }): Promise<OperatorStats>;
  /** All handlers that ever registered, retired ones too. */
  handlers(): Promise<readonly HandlerRecord[]>;
  /** Its messages wait; what runs goes on. */
  pause(handler: string, by: By): Promise<Paused>;
  resume(handler: string, by: By): Promise<Resumed>;
  /**
   * Ends a handler whose code is gone: it gets no further messages. Refused while a worker serves it, and while it has open
   * deliveries unless `discardOpen` gives them up. A worker that registers it again brings it back.
   */
  retire(handler: string, by: By, options?: { readonly discardOpen?: boolean | undefined }): Promise<Retired>;
  /** Nothing is started anywhere until `resumeAll`; sending goes on. */
  pauseAll(by: By): Promise<Paused>;
  resumeAll(by: By): Promise<Resumed>;
  /** Keys whose later messages wait behind one that retries or has failed, in a fixed order. */
  heldKeys(
    filter?: Paging & { readonly service?: string | undefined; readonly handler?: string | undefined },
  ): Promise<Page<HeldKey>>;
  /**
   * Lets a key go on past what failed: that stays a dead letter and holds nothing any more; what was parked behind it runs, in its
   * order. `count`: how many go on. 0 when nothing was held.
   */
  releaseKey(handler: string, key: string, by: By): Promise<Released>;
  /** Gives up the first of a key that failed; what waits behind it goes on. */
  skipKey(handler: string, key: string, by: By & { readonly reason: string }): Promise<Skipped>;
  /** At most so many runs of a handler at once in each process, whatever its code says; `undefined`: as its code says. */
  limit(handler: string, limit: number | undefined, by: By): Promise<Limited>;
  /** Is anything lost or late, and what needs somebody. Never counts a table. */
  overview(options?: { readonly range?: OverviewRange | undefined }): Promise<Overview>;
  /** Processes, tables and what is wrong with them. */
  system(): Promise<SystemRecord>;
  /** What was changed by hand, the newest first. */
  audit(filter?: AuditFilter & Paging): Promise<Page<AuditRecord>>;
  /**
   * Whether the audit is what was written, in its order: each record is chained to the one before it. Names the first that is not. Who
   * may write all tables can write a whole new chain, or cut off its end: the anchor, kept elsewhere, shows that. Reads all of it.
   */
  verifyAudit(anchor?: AuditAnchor): Promise<AuditVerified>;
}
