export { isHoldfastError, HoldfastError, type AnyHoldfastError } from './kernel/error.ts';
export type { ErrorCode, ErrorDetails } from './kernel/error-codes.ts';
export type { OptionProblem } from './kernel/check-options.ts';
export type { Effects, Instant, Sleep } from './kernel/effects.ts';
export {
  idempotencyKey,
  parseIdempotencyKey,
  type IdempotencyKey,
  type IdempotencyKeyParts,
} from './kernel/idempotency-key.ts';
export type { LogFields, Logger } from './kernel/log.ts';
export type { RetryState } from './kernel/retry-state.ts';
export { createSleep, type WaitClock } from './kernel/sleep.ts';
export type { SchemaIssue, SchemaResult, StandardSchema } from './kernel/standard-schema.ts';
export { jsonLogger } from './system/json-logger.ts';
export { systemEffects } from './system/effects.ts';

export { event, type EventDefinition, type EventOptions, type HandledEvent } from './outbox/event.ts';
export {
  aesSealing,
  type AesSealingOptions,
  type SealAbout,
  type SealedPayload,
  type Sealing,
} from './outbox/sealing.ts';
export {
  outgoing,
  type Outgoing,
  type SendAbout,
  type Sender,
  type Sending,
  type SendOptions,
  type SendWrapper,
} from './outbox/sending.ts';
export type { NewMessage, OutboxStore, SendResult } from './outbox/outbox-store.ts';

export type {
  BatchItem,
  Handle,
  HandlerContext,
  HandlerOptions,
  OnDead,
  OnDeadOf,
  Project,
  ProjectAll,
} from './relay/handler.ts';
export type { BreakerOptions } from './relay/breaker.ts';
export type { Lines } from './relay/lines.ts';
export type { RefusedReason, RelayEvent, RelayObserver } from './relay/relay-event.ts';
export type { HouseReport, KeepOptions } from './relay/house-report.ts';
export type {
  BreakerAnswer,
  BreakerChange,
  BreakerSight,
  CommitOutcome,
  CommitTarget,
  Delivery,
  DeliveryError,
  FetchTarget,
  FreeUnit,
  HandlerRegistration,
  Holder,
  Lane,
  MarkTarget,
  OpenState,
  ReadAnswer,
  ReadRequest,
  RelaySession,
  RelayStore,
  RunningReport,
  SettleAnswer,
  SettleTarget,
  Settlement,
  Snapshot,
  Survey,
  Token,
  UnitLoad,
  UnitRequest,
  WorkerRegistration,
} from './relay/relay-store.ts';
export type { RunningRelay } from './relay/relay.ts';
export type { CarriedTrace, RunAbout, RunWrapper } from './relay/run-wrapper.ts';
export { holdfast, type Holdfast, type HoldfastOptions } from './service/holdfast.ts';
export type { ImportDeadOptions, ImportedDead } from './service/import-dead.ts';
export type { StartOptions } from './service/start-options.ts';
export type { TransportOption, TransportRoute } from './service/transport-routes.ts';
export type { Transport } from './transport/transport.ts';

export type { Attemptable, AttemptContext } from './retry/attempt.ts';
export {
  createClassifier,
  eventHandlerClassifier,
  serviceCallClassifier,
  streamClassifier,
  type ClassifierOptions,
} from './retry/classifier.ts';
export { retryBudget, type RetryBudget } from './retry/budget.ts';
export { countRetries, type RetryCounters } from './retry/count-retries.ts';
export { decide, type Decision, type StopReason } from './retry/decide.ts';
export { describeEnvelope, envelope, type Envelope, type PlannedWait } from './retry/envelope.ts';
export type { Classifier, Classify, Failure, FailureKind, RefusalReason } from './retry/failure.ts';
export { readHint, type HeaderSource, type Hint } from './retry/hint.ts';
export { logRetries } from './retry/log-retries.ts';
export {
  consumer,
  eventHandler,
  llmProvider,
  llmProviderElapsed,
  serviceCall,
  webhookDelivery,
} from './retry/policies.ts';
export { policy, type HintRule, type Policy, type PolicyOptions } from './retry/policy.ts';
export type { RetryEvent, RetryObserver } from './retry/retry-event.ts';
export type { RetryOptions } from './retry/retry-options.ts';
export {
  constant,
  exponential,
  expression,
  scheduleOf,
  steps,
  type Draw,
  type Jitter,
  type Schedule,
  type ScheduleSpec,
} from './retry/schedule.ts';
export { initialState, resume } from './retry/state.ts';
export { retryStrategy, type RetryStrategy } from './retry/strategy.ts';
export { TerminalHandlerError } from './retry/terminal-handler-error.ts';
export { traceRetries } from './retry/trace-retries.ts';
export { createRetry, withRetry } from './retry/with-retry.ts';
