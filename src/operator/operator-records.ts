import type { DeliveryError } from '../relay/relay-store.ts';
import type { FailureCycle } from './failure-cycle.ts';

/** The four states of a message: the summary of its deliveries. */
export type MessageStatus = 'pending' | 'in_flight' | 'delivered' | 'failed';

/** Where one delivery stands. `waiting`: for a retry or its time. */
export type DeliveryStatus = 'ready' | 'waiting' | 'failed' | 'delivered' | 'discarded' | 'cancelled';

/** What operators call a dead letter's state. `pending`: nobody has dealt with it. */
export const DEAD_LETTER_STATUSES = ['pending', 'replaying', 'replayed', 'discarded'] as const;

export type DeadLetterStatus = (typeof DEAD_LETTER_STATUSES)[number];

/** One delivery that failed for good, and what became of it. */
export interface DeadLetter {
  /** `<message id>:<number of the handler>`. Every verb that takes a message id takes it too, for this delivery alone. */
  readonly id: string;
  readonly messageId: string;
  /** Whose handler failed. */
  readonly service: string;
  readonly handler: string;
  readonly type: string;
  readonly key: string | undefined;
  /** Who sent the message. */
  readonly source: string;
  readonly target: string | undefined;
  readonly generation: number | undefined;
  readonly status: DeadLetterStatus;
  /** Of the cycle shown: the present one, or the one before the replay. */
  readonly attempts: number;
  readonly error: DeliveryError | undefined;
  /** How often it was replayed. */
  readonly cycle: number;
  readonly firstFailedAt: Date | undefined;
  readonly lastAttemptAt: Date | undefined;
  /** When the message was sent. */
  readonly createdAt: Date;
  /** When it took its present status. */
  readonly updatedAt: Date;
  /** Later messages of its key wait behind it. */
  readonly holds: boolean;
  /** The error group it is in; absent for what failed before groups were kept. */
  readonly group: string | undefined;
}

/** A message in one line, as the view `outbox` shows it. */
export interface MessageSummary {
  readonly id: string;
  readonly type: string;
  readonly key: string | undefined;
  readonly source: string;
  readonly target: string | undefined;
  readonly idempotencyKey: string;
  readonly generation: number | undefined;
  readonly status: MessageStatus;
  /** Of the delivery that failed with the most attempts, or of the furthest one. */
  readonly attempts: number;
  readonly lastError: string | undefined;
  readonly createdAt: Date;
  readonly dueAt: Date | undefined;
  readonly firstFailedAt: Date | undefined;
  readonly failedAt: Date | undefined;
  /** Discarded (`status` is `failed`) or cancelled (`status` is `pending`). */
  readonly deletedAt: Date | undefined;
  /** When the last handler was done with it. */
  readonly publishedAt: Date | undefined;
}

/** One (message, handler), open or finished. */
export interface DeliveryRecord {
  /** As `DeadLetter.id`. */
  readonly id: string;
  /** Both absent: no handler is known for the type. */
  readonly service: string | undefined;
  readonly handler: string | undefined;
  readonly status: DeliveryStatus;
  /** Ended attempts of this cycle. */
  readonly attempts: number;
  readonly cycle: number;
  readonly rerun: number;
  readonly version: number;
  readonly generation: number | undefined;
  readonly error: DeliveryError | undefined;
  readonly dueAt: Date | undefined;
  readonly firstFailedAt: Date | undefined;
  readonly failedAt: Date | undefined;
  readonly doneAt: Date | undefined;
  readonly durationMs: number | undefined;
  /** There while a worker is known to run it: after one heartbeat. */
  readonly running: { readonly worker: string; readonly attempt: number; readonly startedAt: Date } | undefined;
  readonly holds: boolean;
  readonly failureHistory: readonly FailureCycle[];
  /** Of a discarded or cancelled one: why, and by whom. */
  readonly reason: string | undefined;
  readonly actor: string | undefined;
}

/** A payload as it was before an edit. */
export interface EditRecord {
  /** The version the payload had. */
  readonly version: number;
  readonly payload: unknown;
  readonly editedAt: Date;
  readonly actor: string;
  readonly reason: string | undefined;
}

/** What was changed by hand. */
export interface AuditRecord {
  readonly id: number;
  readonly at: Date;
  readonly actor: string;
  readonly verb: AuditVerb;
  readonly reason: string | undefined;
  readonly messageId: string | undefined;
  readonly service: string | undefined;
  readonly handler: string | undefined;
  readonly details: Readonly<Record<string, unknown>>;
}

/** The words of the audit. */
export const AUDIT_VERBS = [
  'replay',
  'rerun',
  'deliver',
  'discard',
  'edit',
  'cancel',
  'pause',
  'resume',
  'retire',
  'pause-all',
  'resume-all',
  'release',
  'skip',
  'limit',
  'resolve-group',
  'ignore-group',
  'reopen-group',
  'start-bulk',
  'pause-bulk',
  'resume-bulk',
  'cancel-bulk',
  'open-breaker',
  'close-breaker',
  'create-endpoint',
  'update-endpoint',
  'delete-endpoint',
  'enable-endpoint',
  'disable-endpoint',
  'rotate-secret',
  'read-secrets',
  'send-event',
  'test-endpoint',
  'change-queue',
  'delete-queue',
  'change-group',
  'delete-group',
  'change-flow',
  'change-schedule',
  'create-token',
  'revoke-token',
  'read-signing-keys',
  'rotate-signing-keys',
  'erase',
] as const;

export type AuditVerb = (typeof AUDIT_VERBS)[number];

/** Everything that is known of one message. */
export interface MessageDetail extends MessageSummary {
  readonly payload: unknown;
  readonly headers: Readonly<Record<string, string>>;
  readonly aggregateType: string | undefined;
  readonly aggregateId: string | undefined;
  readonly correlationId: string | undefined;
  readonly causationId: string | undefined;
  readonly traceparent: string | undefined;
  readonly tracestate: string | undefined;
  /** The highest of its deliveries: how often the payload was edited. */
  readonly version: number;
  readonly deliveries: readonly DeliveryRecord[];
  readonly edits: readonly EditRecord[];
  readonly audit: readonly AuditRecord[];
}

/** A registered handler. */
export interface HandlerRecord {
  readonly service: string;
  readonly handler: string;
  /** The types it takes; none once it is retired. */
  readonly types: readonly string[];
  /** Messages stay with workers of their generation. */
  readonly isPinned: boolean;
  readonly isRepeatable: boolean;
  readonly pausedAt: Date | undefined;
  /** Runs at once in each process, as an operator set it. */
  readonly limit: number | undefined;
  readonly registeredAt: Date;
  /** Live workers that serve it. */
  readonly workers: readonly string[];
}

/** How much there is to do for one handler. */
export interface HandlerStats {
  readonly service: string;
  readonly handler: string;
  readonly pausedAt: Date | undefined;
  /** Ready, in line. */
  readonly pending: number;
  /** For a retry, or scheduled. */
  readonly waiting: number;
  readonly failed: number;
  /** Of the history that is kept; absent when it was not counted. */
  readonly delivered: number | undefined;
  /** Age of the first in line that stands behind no dead letter of its key: what is held is not late. */
  readonly oldestMs: number | undefined;
  readonly heldKeys: number;
  /** Live workers that serve it. */
  readonly workers: number;
}

/** How much there is to do, by handler. */
export interface OperatorStats {
  readonly at: Date;
  /** Everything is paused. */
  readonly isPaused: boolean;
  /** Live workers. */
  readonly workers: number;
  /** Messages whose type no handler takes. */
  readonly withoutHandler: number;
  readonly handlers: readonly HandlerStats[];
}

/** A key whose later messages wait behind one that retries or has failed. */
export interface HeldKey {
  readonly key: string;
  readonly service: string;
  readonly handler: string;
  /** The first message that holds it. */
  readonly holder: {
    readonly messageId: string;
    readonly status: 'waiting' | 'failed';
    readonly attempts: number;
    readonly dueAt: Date | undefined;
    /** It retries, and the breaker of its handler is open or probes: nothing is tried before, whatever `dueAt` says. */
    readonly breaker?: { readonly name: string; readonly probeAt: Date | undefined } | undefined;
    readonly error: DeliveryError | undefined;
    /** When it failed for good; of one that retries, when it failed first. */
    readonly since?: Date | undefined;
    /** When it was sent. */
    readonly createdAt?: Date | undefined;
  };
  /** Open messages of the key behind the holder, parked ones included. */
  readonly behind: number;
  /** How many messages of the key have failed, the holder included. */
  readonly failed: number;
}
