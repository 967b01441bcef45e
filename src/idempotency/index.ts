export type { Entry, OpenRun, RunEnded, RunFacts } from './entry.ts';
export { type FetchHandler, idempotent } from './http/fetch-handler.ts';
export type { CapturedReply, HeaderLine, HttpReply } from './http/http-reply.ts';
export type { RouteRun } from './http/http-run.ts';
export type { KeepVerdict, Resolution, RouteOptions } from './http/route-options.ts';
export {
  type EntryOptions,
  idempotency,
  type Idempotency,
  type IdempotencyOptions,
  type RecordName,
} from './idempotency.ts';
export type {
  EntryEvent,
  IdempotencyAbout,
  IdempotencyEvent,
  IdempotencyObserver,
  RunEvent,
  StoreCall,
} from './idempotency-event.ts';
export type {
  AtomicIdempotencyStore,
  Claim,
  ClaimAnswer,
  EndAnswer,
  FinishedStatus,
  IdempotencyRecord,
  IdempotencyStore,
  KeptReply,
  RunEnd,
} from './idempotency-store.ts';
export { layered, type LayeredOptions } from './layered-idempotency.ts';
export { memoryIdempotency, type MemoryIdempotencyOptions } from './memory-idempotency.ts';
export type { OnceOptions, OnceResolution, OnceRun } from './once.ts';
export { type CachedAbout, type CachedReply, ERASED_MS, type ReplyCache } from './reply-cache.ts';
