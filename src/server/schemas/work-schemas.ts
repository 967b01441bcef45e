import { BREAKER_STATES, type BreakerChanged, type BreakerRecord } from '../../operator/breaker-record.ts';
import {
  type Bulk,
  BULK_OUTCOMES,
  BULK_STATES,
  BULK_VERBS,
  type BulkChanged,
  type BulkFilter,
  type BulkForecast,
  type BulkItem,
  type BulkOperations,
  type BulkOutcome,
} from '../../operator/bulk.ts';
import {
  ERROR_GROUP_STATES,
  type ErrorGroup,
  type ErrorGroupChanged,
  type ErrorGroups,
} from '../../operator/error-group.ts';
import type { DeadLetterFilter, PayloadMatch } from '../../operator/operator.ts';
import {
  either,
  flag,
  integer,
  kinds,
  type Kinds,
  list,
  number,
  object,
  oneOf,
  optional,
  type Schema,
  text,
  time,
} from '../schema.ts';
import { CHANGE, DEAD_LETTER, SHORT_ERROR } from './message-schemas.ts';

export const PAYLOAD_MATCH: Schema<PayloadMatch> = object<PayloadMatch>({
  path: list(text),
  value: either<PayloadMatch['value']>(text, number, flag, { json: { type: 'null' } }),
});

const FILTER_FIELDS = {
  service: optional(text),
  handler: optional(text),
  type: optional(text),
  key: optional(text),
  since: optional(time),
  until: optional(time),
  errorCode: optional(text),
  group: optional(text),
  payload: optional(list(PAYLOAD_MATCH)),
  search: optional(text),
} as const;

/** As it is written in a body. */
export const DEAD_LETTER_FILTER: Schema<DeadLetterFilter> = object<DeadLetterFilter>(FILTER_FIELDS);

export const BULK_FILTER: Schema<BulkFilter> = object<BulkFilter>({ ...FILTER_FIELDS, ids: optional(list(text)) });

const BULK_COUNTS: Schema<Bulk['counts']> = object<Bulk['counts']>(
  Object.fromEntries(BULK_OUTCOMES.map((outcome) => [outcome, integer])) as Record<BulkOutcome, Schema<number>>,
);

export const BULK: Schema<Bulk> = object<Bulk>({
  id: text,
  verb: oneOf(...BULK_VERBS),
  state: oneOf(...BULK_STATES),
  filter: BULK_FILTER,
  canary: integer,
  perSecond: optional(number),
  generation: optional(integer),
  actor: text,
  reason: optional(text),
  createdAt: time,
  startedAt: optional(time),
  endedAt: optional(time),
  pausedFor: optional(text),
  isCut: flag,
  total: integer,
  counts: BULK_COUNTS,
});

export const BULK_ITEM: Schema<BulkItem> = object<BulkItem>({
  id: text,
  messageId: text,
  service: text,
  handler: text,
  type: optional(text),
  key: optional(text),
  outcome: oneOf(...BULK_OUTCOMES),
  isCanary: flag,
  startedAt: optional(time),
  endedAt: optional(time),
  error: optional(SHORT_ERROR),
  group: optional(text),
});

type Planned = Awaited<ReturnType<BulkOperations['planBulk']>>;

export const BULK_PLANNED: Schema<Planned> = kinds<Planned>({
  planned: {
    bulk: BULK,
    sample: list(DEAD_LETTER),
    forecast: list(
      object<BulkForecast>({
        service: text,
        handler: text,
        count: integer,
        keys: integer,
        workers: integer,
        isPaused: flag,
        isBreakerOpen: flag,
        behind: integer,
      }),
    ),
    completeSince: optional(time),
  },
});

export const BULK_CHANGED: Schema<BulkChanged> = kinds<BulkChanged>({
  changed: { bulk: BULK },
  refused: { bulk: BULK, problem: text },
  'not-found': {},
});

type FoundBulk = Awaited<ReturnType<BulkOperations['bulk']>>;

export const FOUND_BULK: Schema<FoundBulk> = kinds<FoundBulk>({ found: { bulk: BULK }, 'not-found': {} });

type Step = Awaited<ReturnType<BulkOperations['stepBulks']>>;

export const BULK_STEP: Schema<Step> = object<Step>({
  started: integer,
  ended: integer,
  againInMs: optional(number),
});

export const ERROR_GROUP: Schema<ErrorGroup> = object<ErrorGroup>({
  id: text,
  service: text,
  handler: text,
  type: text,
  error: SHORT_ERROR,
  frames: list(text),
  state: oneOf(...ERROR_GROUP_STATES),
  changed: optional(CHANGE),
  pending: integer,
  total: integer,
  firstSeenAt: time,
  lastSeenAt: time,
  trend: list(integer),
});

type FoundGroup = Awaited<ReturnType<ErrorGroups['group']>>;

export const FOUND_GROUP: Schema<FoundGroup> = kinds<FoundGroup>({
  found: { group: ERROR_GROUP, sample: optional(DEAD_LETTER) },
  'not-found': {},
});

export const GROUP_CHANGED: Schema<ErrorGroupChanged> = kinds<ErrorGroupChanged>({
  changed: { group: ERROR_GROUP },
  unchanged: { group: ERROR_GROUP },
  'not-found': {},
});

export const BREAKER: Schema<BreakerRecord> = object<BreakerRecord>({
  service: text,
  name: text,
  handlers: list(text),
  state: oneOf(...BREAKER_STATES),
  since: optional(time),
  failures: integer,
  probeAt: optional(time),
  error: optional(SHORT_ERROR),
  changed: optional(CHANGE),
  waiting: integer,
});

const BREAKER_KINDS: Kinds<BreakerChanged> = {
  changed: { breaker: BREAKER },
  unchanged: { breaker: BREAKER },
  'unknown-breaker': { name: text, known: list(text) },
  'ambiguous-breaker': { name: text, write: list(text) },
};

export const BREAKER_CHANGED: Schema<BreakerChanged> = kinds<BreakerChanged>(BREAKER_KINDS);
