export type { Idempotency } from '../idempotency/idempotency.ts';
export type { RouteOptions } from '../idempotency/http/route-options.ts';
export type { ResponseRun } from '../node-http/framework.ts';
export { runOf } from '../node-http/run-of.ts';
export { type ExpressRequest, idempotent, type ExpressMiddleware } from './idempotent.ts';
