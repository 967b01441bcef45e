import type { HttpRequest } from './request-options.ts';

/** What every call of a ready-made client takes beside its own fields. */
export type CallOptions = Pick<
  HttpRequest,
  'requestId' | 'idempotencyKey' | 'user' | 'signal' | 'deadlineAt' | 'timeoutMs' | 'logFields'
>;
