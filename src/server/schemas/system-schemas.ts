import type { AuditVerified } from '../../operator/audit-verify.ts';
import {
  type CommandRecord,
  IDEMPOTENCY_STATUSES,
  type IdempotencyRecord,
  type OutgoingCall,
} from '../../operator/kept-lists.ts';
import type { HandlerRecord, HandlerStats, HeldKey, OperatorStats } from '../../operator/operator-records.ts';
import {
  type Attention,
  type HandlerOverview,
  type Overview,
  OVERVIEW_RANGES,
  type OverviewPoint,
  type OverviewRange,
} from '../../operator/overview.ts';
import type { Finding, SnapshotHolder, SystemRecord, TableHealth, WorkerRecord } from '../../operator/system-record.ts';
import { TRACE_STEPS, type TraceCandidate, type Traced, type TracedAs, type TraceEntry } from '../../operator/trace.ts';
import {
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
import { AUDIT_RECORD, DELIVERY_ERROR } from './message-schemas.ts';
import { BREAKER } from './work-schemas.ts';

const HANDLER_FIELDS = {
  service: text,
  handler: text,
  types: list(text),
  isPinned: flag,
  isRepeatable: flag,
  pausedAt: optional(time),
  limit: optional(integer),
  registeredAt: time,
  workers: list(text),
} as const;

export const HANDLER: Schema<HandlerRecord> = object<HandlerRecord>(HANDLER_FIELDS);

const HANDLER_STATS: Schema<HandlerStats> = object<HandlerStats>({
  service: text,
  handler: text,
  pausedAt: optional(time),
  pending: integer,
  waiting: integer,
  failed: integer,
  delivered: optional(integer),
  oldestMs: optional(number),
  heldKeys: integer,
  workers: integer,
});

export const STATS: Schema<OperatorStats> = object<OperatorStats>({
  at: time,
  isPaused: flag,
  workers: integer,
  withoutHandler: integer,
  handlers: list(HANDLER_STATS),
});

export const HELD_KEY: Schema<HeldKey> = object<HeldKey>({
  key: text,
  service: text,
  handler: text,
  holder: object<HeldKey['holder']>({
    messageId: text,
    status: oneOf('waiting', 'failed'),
    attempts: integer,
    dueAt: optional(time),
    breaker: optional(object<NonNullable<HeldKey['holder']['breaker']>>({ name: text, probeAt: optional(time) })),
    error: optional(DELIVERY_ERROR),
    since: optional(time),
    createdAt: optional(time),
  }),
  behind: integer,
  failed: integer,
});

export const RANGE: Schema<OverviewRange> = oneOf(...OVERVIEW_RANGES);

const POINT: Schema<OverviewPoint> = object<OverviewPoint>({
  at: time,
  sent: integer,
  done: integer,
  retried: integer,
  dead: integer,
  suppressed: integer,
  refused: integer,
  pending: optional(integer),
  oldestMs: optional(number),
});

const ATTENTION: Schema<Attention> = object<Attention>({
  kind: oneOf(
    'paused',
    'no-worker',
    'late',
    'dead-letters',
    'breaker-open',
    'keys-held',
    'no-handler',
    'outbox-full',
    'bulk-paused',
    'not-sampled',
  ),
  text,
  link: text,
});

export const OVERVIEW: Schema<Overview> = object<Overview>({
  at: time,
  verdict: text,
  attention: list(ATTENTION),
  range: RANGE,
  stepMs: integer,
  points: list(POINT),
  handlers: list(
    object<HandlerOverview>({
      ...HANDLER_FIELDS,
      pending: integer,
      waiting: integer,
      failed: integer,
      oldestMs: optional(number),
      donePerSecond: number,
      errorShare: optional(number),
    }),
  ),
  breakers: list(BREAKER),
  audit: list(AUDIT_RECORD),
});

type Running = WorkerRecord['running'][number];

const WORKER: Schema<WorkerRecord> = object<WorkerRecord>({
  id: text,
  name: text,
  service: text,
  generation: optional(integer),
  joinedAt: time,
  expiresAt: time,
  units: integer,
  running: list(object<Running>({ messageId: text, handler: text, attempt: integer, startedAt: time })),
  isHousekeeper: flag,
});

const SNAPSHOT_HOLDER: Schema<SnapshotHolder> = object<SnapshotHolder>({
  what: oneOf('session', 'prepared-transaction', 'replication-slot', 'standby'),
  id: text,
  user: optional(text),
  application: optional(text),
  state: optional(text),
  ageMs: optional(number),
});

export const SYSTEM: Schema<SystemRecord> = object<SystemRecord>({
  at: time,
  version: text,
  schema: object<SystemRecord['schema']>({ name: text, version: integer, expected: integer }),
  server: text,
  isPaused: flag,
  workers: list(WORKER),
  tables: list(
    object<TableHealth>({
      table: text,
      rows: number,
      deadRows: number,
      bytes: number,
      indexBytes: number,
      vacuumedAt: optional(time),
    }),
  ),
  oldestSnapshot: optional(SNAPSHOT_HOLDER),
  historySince: optional(time),
  findings: list(object<Finding>({ level: oneOf('ok', 'warning', 'problem'), title: text, advice: optional(text) })),
});

export const IDEMPOTENCY_STATUS: Schema<IdempotencyRecord['status']> = oneOf(...IDEMPOTENCY_STATUSES);

export const IDEMPOTENCY_RECORD: Schema<IdempotencyRecord> = object<IdempotencyRecord>({
  id: text,
  domain: text,
  status: IDEMPOTENCY_STATUS,
  run: integer,
  leaseUntil: time,
  createdAt: time,
  updatedAt: time,
  expiresAt: time,
  hasReply: flag,
});

export const COMMAND: Schema<CommandRecord> = object<CommandRecord>({
  id: text,
  service: text,
  name: text,
  target: text,
  module: text,
  state: text,
  attempts: integer,
  error: optional(text),
  createdAt: time,
  updatedAt: time,
  closedAt: optional(time),
});

export const OUTGOING_CALL: Schema<OutgoingCall> = object<OutgoingCall>({
  id: text,
  at: time,
  service: text,
  operation: text,
  destination: optional(text),
  isOk: optional(flag),
  status: optional(integer),
  durationMs: optional(number),
  attempt: optional(integer),
  error: optional(text),
});

const TRACED_AS: Schema<TracedAs> = oneOf(
  'request',
  'idempotency key',
  'event',
  'dead letter',
  'command',
  'run',
  'user',
  'source id',
  'correlation',
  'other',
);

const TRACE_ENTRY: Schema<TraceEntry> = object<TraceEntry>({
  at: time,
  step: oneOf(...TRACE_STEPS),
  service: optional(text),
  what: text,
  outcome: optional(oneOf('ok', 'failed', 'waiting')),
  detail: optional(text),
  durationMs: optional(number),
  attempt: optional(integer),
  actor: optional(text),
  reason: optional(text),
  ids: mapOf(text),
});

export const TRACED: Schema<Traced> = kinds<Traced>({
  trace: { id: text, as: list(TRACED_AS), entries: list(TRACE_ENTRY), isCut: flag, at: time },
  ambiguous: {
    candidates: list(object<TraceCandidate>({ id: text, type: text, createdAt: time })),
    isCut: flag,
  },
  'not-found': {},
  'bad-id': { problem: text },
});

export const AUDIT_VERIFIED: Schema<AuditVerified> = kinds<AuditVerified>({
  whole: { place: integer, hash: text, checked: integer },
  broken: {
    problem: oneOf('changed', 'deleted', 'inserted', 'link-missing', 'cut-off', 'rewritten'),
    place: integer,
    id: optional(integer),
    checked: integer,
  },
});
