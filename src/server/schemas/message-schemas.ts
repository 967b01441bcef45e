import type { FailureCycle } from '../../operator/failure-cycle.ts';
import type { DeliveryForecast, PlannedAttempt } from '../../operator/forecast.ts';
import {
  type ListedMessage,
  MESSAGE_TABS,
  type MessagePage,
  type MessageTab,
  type TabCount,
} from '../../operator/message-list.ts';
import {
  AUDIT_VERBS,
  type AuditRecord,
  type AuditVerb,
  DEAD_LETTER_STATUSES,
  type DeadLetter,
  type DeadLetterStatus,
  type DeliveryRecord,
  type DeliveryStatus,
  type EditRecord,
  type MessageDetail,
  type MessageStatus,
  type MessageSummary,
} from '../../operator/operator-records.ts';
import type { FoundPage, Page } from '../../operator/operator.ts';
import type { DeliveryError } from '../../relay/relay-store.ts';
import {
  anything,
  flag,
  integer,
  list,
  mapOf,
  nullable,
  number,
  object,
  oneOf,
  optional,
  type Schema,
  text,
  time,
} from '../schema.ts';

export const DELIVERY_STATUS: Schema<DeliveryStatus> = oneOf(
  'ready',
  'waiting',
  'failed',
  'delivered',
  'discarded',
  'cancelled',
);
const MESSAGE_STATUS: Schema<MessageStatus> = oneOf('pending', 'in_flight', 'delivered', 'failed');
export const DEAD_LETTER_STATUS: Schema<DeadLetterStatus> = oneOf(...DEAD_LETTER_STATUSES);
export const TAB: Schema<MessageTab> = oneOf(...MESSAGE_TABS);
export const AUDIT_VERB: Schema<AuditVerb> = oneOf(...AUDIT_VERBS);

/** A part of a list. */
export function pageOf<T>(of: Schema<T>): Schema<Page<T>> {
  return object<Page<T>>({ items: list(of), next: optional(text) });
}

/** A part of a list of what was searched for. */
export function foundPageOf<T>(of: Schema<T>): Schema<FoundPage<T>> {
  return object<FoundPage<T>>({ items: list(of), next: optional(text), note: optional(text) });
}

export const DELIVERY_ERROR: Schema<DeliveryError> = {
  json: {
    type: 'object',
    properties: {
      name: { type: 'string' },
      message: { type: 'string' },
      code: { type: 'string' },
      kind: { type: 'string' },
      isFinal: { type: 'boolean', const: true },
      stack: { type: 'string' },
    },
    required: ['name', 'message', 'kind'],
    additionalProperties: true,
  },
  isOptional: false,
};

/** An error in three words. */
export const SHORT_ERROR: Schema<{
  readonly name: string;
  readonly code: string | undefined;
  readonly message: string;
}> = object<{ readonly name: string; readonly code: string | undefined; readonly message: string }>({
  name: text,
  code: optional(text),
  message: text,
});

/** By whom, when and why. */
export const CHANGE: Schema<{ readonly at: Date; readonly actor: string; readonly reason: string | undefined }> =
  object<{ readonly at: Date; readonly actor: string; readonly reason: string | undefined }>({
    at: time,
    actor: text,
    reason: optional(text),
  });

export const DEAD_LETTER: Schema<DeadLetter> = object<DeadLetter>({
  id: text,
  messageId: text,
  service: text,
  handler: text,
  type: text,
  key: optional(text),
  source: text,
  target: optional(text),
  generation: optional(integer),
  status: DEAD_LETTER_STATUS,
  attempts: integer,
  error: optional(DELIVERY_ERROR),
  cycle: integer,
  firstFailedAt: optional(time),
  lastAttemptAt: optional(time),
  createdAt: time,
  updatedAt: time,
  holds: flag,
  group: optional(text),
});

const SUMMARY_FIELDS = {
  id: text,
  type: text,
  key: optional(text),
  source: text,
  target: optional(text),
  idempotencyKey: text,
  generation: optional(integer),
  status: MESSAGE_STATUS,
  attempts: integer,
  lastError: optional(text),
  createdAt: time,
  dueAt: optional(time),
  firstFailedAt: optional(time),
  failedAt: optional(time),
  deletedAt: optional(time),
  publishedAt: optional(time),
} as const;

export const MESSAGE_SUMMARY: Schema<MessageSummary> = object<MessageSummary>(SUMMARY_FIELDS);

const FAILURE_CYCLE: Schema<FailureCycle> = object<FailureCycle>({
  cycle: integer,
  service: text,
  handler: text,
  attempts: integer,
  // Texts in the operator's answer too.
  firstFailedAt: nullable(text),
  failedAt: text,
  error: nullable(DELIVERY_ERROR),
  generation: nullable(integer),
  replayedAt: nullable(text),
  replayedBy: nullable(text),
});

type Running = NonNullable<DeliveryRecord['running']>;

const DELIVERY: Schema<DeliveryRecord> = object<DeliveryRecord>({
  id: text,
  service: optional(text),
  handler: optional(text),
  status: DELIVERY_STATUS,
  attempts: integer,
  cycle: integer,
  rerun: integer,
  version: integer,
  generation: optional(integer),
  error: optional(DELIVERY_ERROR),
  dueAt: optional(time),
  firstFailedAt: optional(time),
  failedAt: optional(time),
  doneAt: optional(time),
  durationMs: optional(number),
  running: optional(object<Running>({ worker: text, attempt: integer, startedAt: time })),
  holds: flag,
  failureHistory: list(FAILURE_CYCLE),
  reason: optional(text),
  actor: optional(text),
});

const EDIT: Schema<EditRecord> = object<EditRecord>({
  version: integer,
  payload: anything,
  editedAt: time,
  actor: text,
  reason: optional(text),
});

export const AUDIT_RECORD: Schema<AuditRecord> = object<AuditRecord>({
  id: integer,
  at: time,
  actor: text,
  verb: AUDIT_VERB,
  reason: optional(text),
  messageId: optional(text),
  service: optional(text),
  handler: optional(text),
  details: mapOf(anything),
});

export const MESSAGE_DETAIL: Schema<MessageDetail> = object<MessageDetail>({
  ...SUMMARY_FIELDS,
  payload: anything,
  headers: mapOf(text),
  aggregateType: optional(text),
  aggregateId: optional(text),
  correlationId: optional(text),
  causationId: optional(text),
  traceparent: optional(text),
  tracestate: optional(text),
  version: integer,
  deliveries: list(DELIVERY),
  edits: list(EDIT),
  audit: list(AUDIT_RECORD),
});

type ListedDelivery = ListedMessage['deliveries'][number];

const LISTED_MESSAGE: Schema<ListedMessage> = object<ListedMessage>({
  ...SUMMARY_FIELDS,
  tab: TAB,
  deliveries: list(
    object<ListedDelivery>({ service: optional(text), handler: optional(text), status: DELIVERY_STATUS }),
  ),
});

export const MESSAGE_PAGE: Schema<MessagePage> = object<MessagePage>({
  items: list(LISTED_MESSAGE),
  next: optional(text),
  searchedBackTo: optional(time),
  note: optional(text),
});

export const TAB_COUNT: Schema<TabCount> = object<TabCount>({
  tab: TAB,
  count: integer,
  precision: oneOf('exact', 'at-least', 'estimate'),
});

const FORECAST_OF_DELIVERY: Schema<DeliveryForecast> = object<DeliveryForecast>({
  id: text,
  service: text,
  handler: text,
  status: DELIVERY_STATUS,
  attempts: list(object<PlannedAttempt>({ attempt: integer, earliest: time, latest: optional(time) })),
  // A reason of `decide`, `endless` or `not-open`: an open list of words.
  end: text as unknown as Schema<DeliveryForecast['end']>,
});

/** The rest of a message's retry plans, without its `kind`. */
export const FORECAST_FIELDS: {
  readonly at: Schema<Date>;
  readonly deliveries: Schema<readonly DeliveryForecast[]>;
} = { at: time, deliveries: list(FORECAST_OF_DELIVERY) };
