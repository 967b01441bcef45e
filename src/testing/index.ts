export {
  assertDead,
  type AssertDeadOptions,
  assertDelivered,
  type AssertDeliveredOptions,
  assertNoSecondEffect,
  assertNothingSent,
  assertOrder,
  assertSent,
  type AssertSentOptions,
  sentBy,
} from './kit/assert-sent.ts';
export { drain, type DrainOptions } from './kit/drain.ts';
export type { Drained, DrainedDelivery, DrainedFailure } from './kit/drained.ts';
export { freshSchema, type FreshSchema, type FreshSchemaOptions } from './kit/fresh-schema.ts';
export type { PartOf, PayloadMatch } from './kit/match-payload.ts';
export {
  postgresWire,
  type PostgresWire,
  type StopOptions,
  type StoppedWire,
  type WirePoint,
} from './kit/postgres-wire.ts';
export type { SentDelivery, SentMessage, SentPlace, SqlPlace } from './kit/sent-place.ts';
export { type TriedOutcome, tryHandler, type TryOptions } from './kit/try-handler.ts';
export type { Fault, FaultPoint } from './memory-fault.ts';
export type { MemoryOperator } from './memory-operator.ts';
export type { Outcome, RowState } from './memory-row.ts';
export type { MemorySession } from './memory-session.ts';
export {
  type FinishedMemoryDelivery,
  type MemoryDelivery,
  memoryStore,
  type MemoryStore,
  type MemoryStoreOptions,
  type OpenMemoryDelivery,
} from './memory-store.ts';
export type { BeginOptions, MemoryTransaction } from './memory-transaction.ts';
export type { ContractCase, ContractHarness, ContractTransaction } from './contract/contract-harness.ts';
export { idempotencyContract } from './idempotency-contract.ts';
export { checkAgainstRules, type RandomRunOptions } from './idempotency-contract/check-against-rules.ts';
export type { IdempotencyCase, IdempotencyHarness } from './idempotency-contract/idempotency-harness.ts';
export { localBroker, type LocalBroker, type LocalBrokerOptions } from './local-broker.ts';
export { transportContract } from './transport-contract.ts';
export type { TransportCase, TransportHarness } from './transport-contract/transport-harness.ts';
export { storeContract } from './store-contract.ts';
export { virtualTime, type VirtualTime, type VirtualTimeOptions } from './virtual-time.ts';
