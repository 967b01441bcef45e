export type { Idempotency } from '../idempotency/idempotency.ts';
export type { RunFacts } from '../idempotency/entry.ts';
export { type GraphqlIdempotency, type GraphqlOptions, idempotent, runOf } from './idempotent.ts';
