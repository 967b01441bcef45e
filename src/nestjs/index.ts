export type { Idempotency } from '../idempotency/idempotency.ts';
export type { RouteOptions } from '../idempotency/http/route-options.ts';
export type { ResponseRun } from '../node-http/framework.ts';
export { runOf } from '../node-http/run-of.ts';
export { HOLDFAST, type HoldfastModule, holdfastModule, type Startable } from './holdfast-module.ts';
export { type IdempotencyInterceptor, idempotent, type NestContext } from './idempotent.ts';
