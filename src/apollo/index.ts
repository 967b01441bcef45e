export type { Idempotency } from '../idempotency/idempotency.ts';
export type { RunFacts } from '../idempotency/entry.ts';
export { type ApolloIdempotency, type ApolloOptions, type ApolloRequest, idempotent, runOf } from './idempotent.ts';
