import type { DeadDelivery } from '../../delivery/dead-deliveries.ts';
import { DELIVERY_STATES, type DeliveryState } from '../../delivery/delivery-log.ts';
import type { DeliveryRecord } from '../../delivery/delivery-messages.ts';
import {
  type CallbackTarget,
  type DeliveryRequest,
  type FlowRules,
  type HeaderLists,
  type HiddenParts,
  HTTP_METHODS,
  type HttpMethod,
  type SendRules,
} from '../../delivery/delivery-request.ts';
import type { DestinationRecord } from '../../delivery/destinations.ts';
import type { FlowControlRecord, QueueRecord, UrlGroupRecord } from '../../delivery/line-settings.ts';
import type { PublishTarget, UrlGroupEndpoint } from '../../delivery/publishing.ts';
import type { ScheduleRecord } from '../../delivery/schedules.ts';
import type { WebhookEndpointRecord } from '../../delivery/webhook-endpoints.ts';
import type { ShownEvent } from '../shown-event.ts';
import {
  either,
  flag,
  integer,
  kinds,
  list,
  mapOf,
  number,
  object,
  oneOf,
  optional,
  type Schema,
  text,
  time,
} from '../schema.ts';

const HEADERS: Schema<HeaderLists> = mapOf(list(text));
const METHOD: Schema<HttpMethod> = oneOf(...HTTP_METHODS);

const SEND_RULES: { readonly [K in keyof SendRules]-?: Schema<SendRules[K]> } = {
  method: METHOD,
  retries: integer,
  retryDelay: optional(text),
  retrySeconds: optional(list(number)),
  timeoutMs: optional(integer),
};

const FLOW: { readonly [K in keyof FlowRules]-?: Schema<FlowRules[K]> } = {
  parallelism: optional(integer),
  rate: optional(integer),
  periodMs: optional(integer),
};

const CALLBACK = object<CallbackTarget>({ ...SEND_RULES, url: text, headers: HEADERS });

type Parts = Omit<DeliveryRequest, 'url' | 'group' | 'endpointName' | 'signedBy' | 'endpointId' | 'eventType'>;

const PARTS: { readonly [K in keyof Parts]-?: Schema<Parts[K]> } = {
  ...SEND_RULES,
  headers: HEADERS,
  body: optional(text),
  bodyBase64: optional(text),
  callback: optional(CALLBACK),
  failureCallback: optional(CALLBACK),
  queue: optional(text),
  flowKey: optional(text),
  scheduleId: optional(text),
  labels: optional(list(text)),
  callerIp: optional(text),
  tenant: optional(text),
  hidden: optional(
    object<HiddenParts>({
      body: optional(flag),
      headers: optional(either<true | readonly string[]>(flag, list(text))),
    }),
  ),
};

const REQUEST = object<DeliveryRequest>({
  ...PARTS,
  url: text,
  signedBy: oneOf('server', 'endpoint'),
  endpointId: optional(text),
  eventType: optional(text),
  group: optional(text),
  endpointName: optional(text),
});

/** What a message may be. */
export const RECORD_STATE: Schema<DeliveryRecord['state']> = oneOf('waiting', 'delivered', 'failed', 'cancelled');
export const EVENT_STATE: Schema<DeliveryState> = oneOf(...DELIVERY_STATES);

const RECORD: { readonly [K in keyof DeliveryRecord]-?: Schema<DeliveryRecord[K]> } = {
  messageId: text,
  request: REQUEST,
  flow: optional(object<FlowRules>(FLOW)),
  state: RECORD_STATE,
  createdAt: time,
  notBefore: time,
  nextAt: optional(time),
  attempts: integer,
};

export const DELIVERY_RECORD: Schema<DeliveryRecord> = object<DeliveryRecord>(RECORD);

export const DEAD_DELIVERY: Schema<DeadDelivery> = object<DeadDelivery>({
  ...RECORD,
  dlqId: text,
  failedAt: time,
  responseStatus: optional(integer),
  responseHeaders: optional(HEADERS),
  responseBody: optional(text),
  responseBodyBase64: optional(text),
  error: optional(text),
});

export const DELIVERY_EVENT: Schema<ShownEvent> = object<ShownEvent>({
  at: time,
  messageId: text,
  state: EVENT_STATE,
  request: REQUEST,
  actor: optional(text),
  attempt: optional(integer),
  durationMs: optional(number),
  error: optional(text),
  nextAt: optional(time),
  responseStatus: optional(integer),
  responseHeaders: optional(HEADERS),
  responseBody: optional(text),
  responseBodyBase64: optional(text),
});

export const QUEUE: Schema<QueueRecord> = object<QueueRecord>({
  name: text,
  parallelism: integer,
  isPaused: flag,
  createdAt: time,
  updatedAt: time,
  lag: integer,
});

export const URL_GROUP: Schema<UrlGroupRecord> = object<UrlGroupRecord>({
  name: text,
  createdAt: time,
  updatedAt: time,
  endpoints: list(object<UrlGroupEndpoint>({ name: optional(text), url: text })),
});

export const FLOW_CONTROL: Schema<FlowControlRecord> = object<FlowControlRecord>({
  ...FLOW,
  key: text,
  waiting: integer,
  active: integer,
  started: integer,
  periodStart: optional(time),
  isPaused: flag,
  isParallelismPinned: flag,
  isRatePinned: flag,
});

export const SCHEDULE: Schema<ScheduleRecord> = object<ScheduleRecord>({
  scheduleId: text,
  cron: text,
  to: kinds<PublishTarget>({ url: { url: text }, group: { name: text } }),
  delivery: object<Parts>(PARTS),
  flow: optional(object<FlowRules>(FLOW)),
  delayMs: optional(integer),
  createdAt: time,
  isPaused: flag,
  lastAt: optional(time),
  nextAt: optional(time),
  lastError: optional(text),
  lastStates: mapOf(oneOf('IN_PROGRESS', 'SUCCESS', 'FAIL')),
});

export const DESTINATION: Schema<DestinationRecord> = object<DestinationRecord>({
  destination: text,
  breaker: oneOf('closed', 'open', 'probing'),
  isHeld: flag,
  probeAt: optional(time),
  failures: integer,
  openedAt: optional(time),
  lastError: optional(text),
  waiting: integer,
  lastAttemptAt: optional(time),
  lastStatus: optional(integer),
});

export const ENDPOINT: Schema<WebhookEndpointRecord> = object<WebhookEndpointRecord>({
  id: text,
  url: text,
  description: optional(text),
  eventTypes: list(text),
  headers: mapOf(text),
  retrySeconds: list(number),
  timeoutMs: optional(integer),
  ratePerSecond: optional(integer),
  state: oneOf('enabled', 'disabled'),
  disabledBecause: optional(oneOf('operator', 'gone', 'failing')),
  disabledAt: optional(time),
  failingSince: optional(time),
  createdAt: time,
  updatedAt: time,
});

/** There is such a thing, or not. */
export type FoundOne<T> = { readonly kind: 'found'; readonly item: T } | { readonly kind: 'not-found' };

export function foundOne<T>(of: Schema<T>): Schema<FoundOne<T>> {
  return kinds<FoundOne<T>>({ found: { item: of }, 'not-found': {} });
}

/** As an answer. */
export function asFound<T>(item: T | undefined): FoundOne<T> {
  return item === undefined ? { kind: 'not-found' } : { kind: 'found', item };
}

/** A change that was made, or there was nothing to change. */
export type Changed = { readonly kind: 'done' } | { readonly kind: 'not-found' };

export const CHANGED: Schema<Changed> = kinds<Changed>({ done: {}, 'not-found': {} });

export function asChanged(isDone: boolean): Changed {
  return { kind: isDone ? 'done' : 'not-found' };
}

/** How many were changed. */
export type Counted =
  | { readonly kind: 'done'; readonly count: number; readonly next?: string | undefined }
  | { readonly kind: 'not-found' };

export const COUNTED: Schema<Counted> = kinds<Counted>({
  done: { count: integer, next: optional(text) },
  'not-found': {},
});

/** What became of an endpoint that was made or changed; `invalid`: what was given cannot be. */
export type EndpointAnswer =
  | { readonly kind: 'done'; readonly endpoint: WebhookEndpointRecord }
  | { readonly kind: 'not-found' }
  | { readonly kind: 'invalid'; readonly problem: string };

export const ENDPOINT_ANSWER: Schema<EndpointAnswer> = kinds<EndpointAnswer>({
  done: { endpoint: ENDPOINT },
  'not-found': {},
  invalid: { problem: text },
});

export type SecretAnswer =
  | { readonly kind: 'rotated'; readonly secret: string; readonly oldUntil: Date | undefined }
  | { readonly kind: 'not-found' }
  | { readonly kind: 'invalid'; readonly problem: string };

export const SECRET_ANSWER: Schema<SecretAnswer> = kinds<SecretAnswer>({
  rotated: { secret: text, oldUntil: optional(time) },
  'not-found': {},
  invalid: { problem: text },
});
