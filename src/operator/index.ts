export type { AuditAnchor, AuditProblem, AuditVerified } from './audit-verify.ts';
export {
  BREAKER_STATES,
  type BreakerChanged,
  type BreakerRecord,
  type Breakers,
  type BreakerState,
} from './breaker-record.ts';
export {
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
  type BulkRequest,
  type BulkState,
  type BulkVerb,
} from './bulk.ts';
export type { Erasure, ErasureCounts, ErasureOptions, Erasures, ErasureSubject } from './erasure.ts';
export {
  ERROR_GROUP_STATES,
  type ErrorGroup,
  type ErrorGroupChanged,
  type ErrorGroupFilter,
  type ErrorGroups,
  type ErrorGroupState,
  PENDING_CAP,
} from './error-group.ts';
export type { FailureCycle } from './failure-cycle.ts';
export type { DeliveryForecast, Forecast, PlannedAttempt, PolicyLookup } from './forecast.ts';
export {
  type CommandRecord,
  IDEMPOTENCY_STATUSES,
  type IdempotencyRecord,
  type IdempotencyStatus,
  type KeptLists,
  type OutgoingCall,
} from './kept-lists.ts';
export {
  type ListedMessage,
  MESSAGE_TABS,
  type MessageFilter,
  type MessagePage,
  type Messages,
  type MessageTab,
  type TabCount,
} from './message-list.ts';
export {
  formatMessageQuery,
  type MessageQuery,
  parseMessageQuery,
  payloadPath,
  payloadValue,
  QUERY_QUALIFIERS,
  type QueryProblem,
  type QueryQualifier,
  queryTime,
} from './message-query.ts';
export type {
  BadId,
  Cancelled,
  Discarded,
  Edited,
  Found,
  HandlerRefusal,
  Limited,
  NotFailed,
  NotFound,
  Paused,
  Released,
  Replayed,
  Resumed,
  Retired,
  Skipped,
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
  FoundPage,
  Page,
  Paging,
  PayloadMatch,
  ReplayOptions,
} from './operator.ts';
export {
  type Attention,
  type HandlerOverview,
  type Overview,
  OVERVIEW_RANGES,
  type OverviewPoint,
  type OverviewRange,
} from './overview.ts';
export type { Finding, SnapshotHolder, SystemRecord, TableHealth, WorkerRecord } from './system-record.ts';
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
