export type { Idempotency } from '../idempotency/idempotency.ts';
export type { RouteRun } from '../idempotency/http/http-run.ts';
export type { RouteOptions } from '../idempotency/http/route-options.ts';
export { runOf } from '../node-http/run-of.ts';
export { idempotent, type KoaContext } from './idempotent.ts';
