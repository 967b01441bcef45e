import type { Rule } from './rule.ts';

/** A gRPC status: its name, and what it means. */
export interface GrpcStatus extends Rule {
  readonly name: string;
}

/**
 * By number. `UNAVAILABLE` is the one status gRPC itself calls safe to retry; `DEADLINE_EXCEEDED` is a timeout and
 * `RESOURCE_EXHAUSTED` the gRPC form of 429; `ABORTED` asks for the whole unit of work to be run again, which is what a
 * retried function does. `UNKNOWN` and `INTERNAL` are what any thrown error in a server becomes and `CANCELLED` may be
 * anybody's doing: nothing is known, so they have no verdict. The rest is about the request.
 */
export const GRPC_STATUSES: readonly GrpcStatus[] = [
  { name: 'OK', kind: 'grpc' },
  { name: 'CANCELLED', kind: 'grpc' },
  { name: 'UNKNOWN', kind: 'grpc' },
  { name: 'INVALID_ARGUMENT', kind: 'invalid', verdict: 'fail' },
  { name: 'DEADLINE_EXCEEDED', kind: 'timeout', verdict: 'retry' },
  { name: 'NOT_FOUND', kind: 'grpc', verdict: 'fail' },
  { name: 'ALREADY_EXISTS', kind: 'conflict', verdict: 'fail' },
  { name: 'PERMISSION_DENIED', kind: 'auth', verdict: 'fail' },
  { name: 'RESOURCE_EXHAUSTED', kind: 'rate-limit', verdict: 'retry' },
  { name: 'FAILED_PRECONDITION', kind: 'grpc', verdict: 'fail' },
  { name: 'ABORTED', kind: 'grpc', verdict: 'retry' },
  { name: 'OUT_OF_RANGE', kind: 'invalid', verdict: 'fail' },
  { name: 'UNIMPLEMENTED', kind: 'grpc', verdict: 'fail' },
  { name: 'INTERNAL', kind: 'grpc' },
  { name: 'UNAVAILABLE', kind: 'grpc', verdict: 'retry' },
  { name: 'DATA_LOSS', kind: 'grpc', verdict: 'fail' },
  { name: 'UNAUTHENTICATED', kind: 'auth', verdict: 'fail' },
];
