import type { NotRepeated } from '../kernel/error-codes.ts';
import type { Failure } from '../retry/failure.ts';

/** What makes a request safe to send a second time, or not. */
export interface Replay {
  /** The method, the idempotency key or the caller says that two requests have the effect of one. */
  readonly repeatable: boolean;
  /** The body is a stream: it is gone once it was sent. */
  readonly bodyIsKept: boolean;
}

/** Methods that have the same effect once and twice. */
const REPEATABLE_METHODS = ['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'];

// The connection was never made, so nothing was sent on it.
const NEVER_LEFT = [
  'EADDRNOTAVAIL',
  'EAI_AGAIN',
  'EAI_FAIL',
  'EAI_NODATA',
  'ECONNREFUSED',
  'EHOSTDOWN',
  'EHOSTUNREACH',
  'ENETDOWN',
  'ENETUNREACH',
  'ENOTFOUND',
  'UND_ERR_CONNECT_TIMEOUT',
];

// By definition the server did not act. 503 says so too, but proxies send it for requests the service has already seen.
const NOT_ACTED_ON = [425, 429];

/** True if repeating a request of this kind cannot do harm. `declared` is the caller's own word and wins. */
export function isRepeatable(
  method: string,
  idempotencyKey: string | undefined,
  declared: boolean | undefined,
): boolean {
  return declared ?? (idempotencyKey !== undefined || REPEATABLE_METHODS.includes(method));
}

/** True for the code of a connection that was never made. */
export function neverLeft(code: string): boolean {
  return NEVER_LEFT.includes(code);
}

/** True for a status by which a server says that it did not act on the request. */
export function notActedOn(status: number): boolean {
  return NOT_ACTED_ON.includes(status);
}

/**
 * Turns "worth another attempt" into a refusal (`unsafe-replay`) where the service may have acted on a request that must
 * not be sent twice. Whether it may have is known from the attempt itself; what a classifier calls the failure says nothing.
 */
export function guardReplay(failure: Failure, replay: Replay, mayHaveActed: boolean): Failure {
  if (failure.verdict === 'fail') return failure;
  if (replay.bodyIsKept && (replay.repeatable || !mayHaveActed)) return failure;
  return { ...failure, verdict: 'fail', reason: 'unsafe-replay' };
}

/** Why `guardReplay` refuses a request. `declared` is the caller's own word. */
export function whyNotRepeated(replay: Replay, declared: boolean | undefined): NotRepeated {
  if (!replay.bodyIsKept) return 'stream-body';
  return declared === false ? 'declared' : 'unsafe-replay';
}
