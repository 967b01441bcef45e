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
  SkippedHandlers,
} from '../../operator/operator-outcomes.ts';
import type { Forecast } from '../../operator/forecast.ts';
import type { MessageDetail, MessageSummary } from '../../operator/operator-records.ts';
import type { DeliveryReason, WhyReason } from '../../operator/why.ts';
import { integer, kinds, type Kinds, list, object, oneOf, optional, type Schema, text, time } from '../schema.ts';
import { DELIVERY_STATUS, FORECAST_FIELDS, MESSAGE_DETAIL, MESSAGE_SUMMARY } from './message-schemas.ts';

const NO_MESSAGE: Kinds<NotFound | BadId> = { 'not-found': {}, 'bad-id': { problem: text } };
const NO_HANDLER: Kinds<HandlerRefusal> = {
  'unknown-handler': { name: text, known: list(text) },
  'ambiguous-handler': { name: text, write: list(text) },
};
const NOT_FAILED = { 'not-failed': { status: DELIVERY_STATUS } } as const;
const ALREADY_DELIVERED = { 'already-delivered': { handlers: list(text) } } as const;

export const FOUND_SUMMARY: Schema<Found<MessageSummary> | NotFound | BadId> = kinds<
  Found<MessageSummary> | NotFound | BadId
>({ found: { message: MESSAGE_SUMMARY }, ...NO_MESSAGE });

export const FOUND_DETAIL: Schema<Found<MessageDetail> | NotFound | BadId> = kinds<
  Found<MessageDetail> | NotFound | BadId
>({ found: { message: MESSAGE_DETAIL }, ...NO_MESSAGE });

export const FORECAST_OUTCOME: Schema<Forecast | NotFound | BadId> = kinds<Forecast | NotFound | BadId>({
  forecast: FORECAST_FIELDS,
  ...NO_MESSAGE,
});

const WHY_REASON: Schema<WhyReason> = kinds<WhyReason>({
  scheduled: { dueAt: time },
  'retry-wait': { dueAt: time, attempts: integer, lastError: text },
  failed: { attempts: integer, lastError: text, failedAt: time },
  behind: { messageId: text, state: oneOf('ready', 'waiting', 'failed'), key: text },
  'handler-paused': { since: time },
  'all-paused': {},
  'breaker-open': { breaker: text, probeAt: optional(time) },
  'line-held': { line: text, because: oneOf('breaker', 'paused'), probeAt: optional(time) },
  'no-handler': { type: text },
  'no-worker': {},
  'generation-unserved': { generation: optional(integer) },
  'type-unknown': { type: text, dueAt: time },
  postponed: { dueAt: time, reason: text },
  'unit-unowned': {},
  running: { worker: text, attempt: integer, startedAt: time },
  queued: { owner: text },
  delivered: { at: time },
  discarded: { at: time, actor: text, reason: text },
  cancelled: { at: time, actor: text, reason: optional(text) },
});

type Why = { readonly kind: 'why'; readonly deliveries: readonly DeliveryReason[] } | NotFound | BadId;

export const WHY: Schema<Why> = kinds<Why>({
  why: {
    deliveries: list(
      object<DeliveryReason>({
        id: text,
        service: optional(text),
        handler: optional(text),
        reason: WHY_REASON,
        sentence: text,
      }),
    ),
  },
  ...NO_MESSAGE,
});

export const REPLAYED: Schema<Replayed> = kinds<Replayed>({
  replayed: {
    count: integer,
    skipped: optional(object<SkippedHandlers>({ notRepeatable: list(text), pending: list(text) })),
  },
  ...NO_MESSAGE,
  ...NOT_FAILED,
  ...NO_HANDLER,
  ...ALREADY_DELIVERED,
  'not-repeatable': { handlers: list(text) },
});

export const DISCARDED: Schema<Discarded> = kinds<Discarded>({
  discarded: { count: integer },
  ...NO_MESSAGE,
  ...NOT_FAILED,
  ...NO_HANDLER,
});

export const EDITED: Schema<Edited> = kinds<Edited>({
  edited: { version: integer, count: integer },
  ...NO_MESSAGE,
  ...NOT_FAILED,
  changed: { version: integer },
  ...ALREADY_DELIVERED,
});

export const CANCELLED: Schema<Cancelled> = kinds<Cancelled>({
  cancelled: {},
  ...NO_MESSAGE,
  'not-scheduled': { status: DELIVERY_STATUS },
});

type Many<Kind extends string> = { readonly kind: Kind; readonly count: number };

export const REPLAYED_MANY: Schema<Many<'replayed'>> = kinds<Many<'replayed'>>({ replayed: { count: integer } });

export const KEY_REPLAYED: Schema<Many<'replayed'> | HandlerRefusal> = kinds<Many<'replayed'> | HandlerRefusal>({
  replayed: { count: integer },
  ...NO_HANDLER,
});

export const KEY_DISCARDED: Schema<Many<'discarded'> | HandlerRefusal> = kinds<Many<'discarded'> | HandlerRefusal>({
  discarded: { count: integer },
  ...NO_HANDLER,
});

export const RELEASED: Schema<Released> = kinds<Released>({ released: { count: integer }, ...NO_HANDLER });

export const SKIPPED: Schema<Skipped> = kinds<Skipped>({
  skipped: { messageId: text },
  'nothing-failed': {},
  ...NO_HANDLER,
});

export const PAUSED: Schema<Paused> = kinds<Paused>({
  paused: {},
  'already-paused': { since: optional(time) },
  ...NO_HANDLER,
});

export const RESUMED: Schema<Resumed> = kinds<Resumed>({ resumed: {}, 'not-paused': {}, ...NO_HANDLER });

export const RETIRED: Schema<Retired> = kinds<Retired>({
  retired: { discarded: integer },
  'has-workers': { workers: list(text) },
  'has-open': { open: integer, failed: integer },
  ...NO_HANDLER,
});

export const LIMITED: Schema<Limited> = kinds<Limited>({
  limited: { limit: optional(integer) },
  unchanged: { limit: optional(integer) },
  ...NO_HANDLER,
});
