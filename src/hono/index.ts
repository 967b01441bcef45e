export type { Idempotency } from '../idempotency/idempotency.ts';
export type { RouteRun } from '../idempotency/http/http-run.ts';
export type { RouteOptions } from '../idempotency/http/route-options.ts';
export { type HonoContext, idempotent, runOf } from './idempotent.ts';
