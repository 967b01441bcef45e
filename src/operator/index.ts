export type { FailureCycle } from './failure-cycle.ts';
export type { DeliveryForecast, Forecast, PlannedAttempt, PolicyLookup } from './forecast.ts';
export type {
  BadId,
  Cancelled,
  Discarded,
  Edited,
  Found,
  HandlerRefusal,
  NotFailed,
  NotFound,
  Paused,
  Replayed,
  Resumed,
  Retired,
} from './operator-outcomes.ts';
export {
  AUDIT_VERBS,
  type AuditRecord,
  type AuditVerb,
  DEAD_LETTER_STATUSES,
  type DeadLetter,
  type DeadLetterStatus,
  type DeliveryRecord,
  type DeliveryStatus,
  type EditRecord,
  type HandlerRecord,
  type HandlerStats,
  type HeldKey,
  type MessageDetail,
  type MessageStatus,
  type MessageSummary,
  type OperatorStats,
} from './operator-records.ts';
export type {
  AuditFilter,
  By,
  DeadLetterFilter,
  MessageReplayOptions,
  Operator,
  Page,
  Paging,
  ReplayOptions,
} from './operator.ts';
export {
  type Trace,
  TRACE_STEPS,
  type TraceCandidate,
  type Traced,
  TRACED_IDS,
  type TracedAs,
  type TraceEntry,
  type TraceOptions,
  type TraceStep,
} from './trace.ts';
export { type DeliveryReason, describeReason, type WhyReason } from './why.ts';
