import { isHoldfastError } from '../kernel/error.ts';
import type { LogFields, Logger } from '../kernel/log.ts';
import type { Failure } from '../retry/failure.ts';
import type { RetryEvent, RetryObserver } from '../retry/retry-event.ts';
import type { ActiveSpan } from '../system/active-span.ts';
import type { RequestPlan } from './request-options.ts';
import { shownUrl } from './target-url.ts';

/** The status of the answer to the latest attempt, if there is one. */
type StatusNow = () => number | undefined;

/** Adds what only HTTP knows to the lines of a logger: method, status, and how often the request was sent before. */
export function logHttp(logger: Logger, request: RequestPlan, statusNow: StatusNow): Logger {
  const about = (fields: LogFields): LogFields => {
    const status = statusNow();
    return {
      ...fields,
      method: request.method,
      ...(status === undefined ? {} : { httpStatus: status }),
      ...((fields.attempt ?? 1) > 1 ? { resendCount: (fields.attempt ?? 1) - 1 } : {}),
    };
  };
  return {
    debug: (fields, message) => logger.debug(about(fields), message),
    info: (fields, message) => logger.info(about(fields), message),
    warn: (fields, message) => logger.warn(about(fields), message),
    error: (fields, message) => logger.error(about(fields), message),
  };
}

const ENDS: readonly RetryEvent['type'][] = ['attempt-succeeded', 'attempt-failed'];

/**
 * Adds one event to the span for each request that went over the wire, with the attributes OpenTelemetry gives an HTTP
 * client: `http.request.resend_count` is absent on the first and counts from 1.
 */
export function traceHttp(span: ActiveSpan, request: RequestPlan, statusNow: StatusNow): RetryObserver {
  const { url, method } = request;
  return (event) => {
    if (!ENDS.includes(event.type)) return;
    const status = statusNow();
    const failure = event.type === 'attempt-failed' ? event.failure : undefined;
    const port = url.port || (url.protocol === 'https:' ? '443' : '80');
    span.addEvent('http.request', {
      'http.request.method': method,
      'server.address': url.hostname,
      'server.port': Number(port),
      ...(status === undefined ? {} : { 'http.response.status_code': status }),
      ...(event.attempt > 1 ? { 'http.request.resend_count': event.attempt - 1 } : {}),
      ...(failure === undefined
        ? {}
        : { 'error.type': failure.status === undefined ? (failure.code ?? failure.kind) : String(failure.status) }),
    });
  };
}

/** One attempt of a call, when it has ended: what is known of the call, and what came of it. Beside it stand the call's log fields. */
export interface HttpAttempt extends LogFields {
  readonly operation: string;
  readonly method: string;
  /** Without its query. */
  readonly url: string;
  readonly requestId: string;
  /** From 1. */
  readonly attempt: number;
  /** `Infinity` when another limit ends the retries. */
  readonly maxAttempts: number;
  readonly latencyMs: number;
  /** Absent when no answer came. */
  readonly httpStatus?: number | undefined;
  /** What kind of failure it was, with its code where that is known: `network ECONNRESET`. Absent when it went well. */
  readonly errorClass?: string | undefined;
  /** Whether such a failure is worth another attempt. Absent when it went well. */
  readonly retryable?: boolean | undefined;
}

/** Is told of each attempt. What it throws is dropped. */
export type HttpAttemptObserver = (attempt: HttpAttempt) => void;

/** Tells of each attempt, with the fields that are known of the call. */
export function tellAttempts(
  tell: HttpAttemptObserver,
  request: RequestPlan,
  fields: LogFields,
  statusNow: StatusNow,
): RetryObserver {
  return (event) => {
    if (event.type !== 'attempt-succeeded' && event.type !== 'attempt-failed') return;
    const { operation, attempt, maxAttempts, idempotencyKey, latencyMs } = event;
    const failure = event.type === 'attempt-failed' ? event.failure : undefined;
    const status = statusNow();
    tell({
      ...fields,
      operation,
      method: request.method,
      url: shownUrl(request.url),
      requestId: request.requestId,
      ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
      attempt,
      maxAttempts,
      latencyMs,
      ...(status === undefined ? {} : { httpStatus: status }),
      ...(failure === undefined
        ? {}
        : {
            errorClass: errorClass(failure, 'error' in event ? event.error : undefined),
            retryable: failure.verdict === 'retry',
          }),
    });
  };
}

/** With an answer, its status says the rest; without one, the code of the network does. */
function errorClass({ kind, status, code }: Failure, error: unknown): string {
  if (status !== undefined) return kind;
  const known = isHoldfastError(error, 'HTTP_NO_ANSWER') ? error.details.problem : code;
  return known === undefined ? kind : `${kind} ${known}`;
}

/** One that tells all that are there; what one of them throws does not keep the others from it. */
export function together(observers: readonly (RetryObserver | undefined)[]): RetryObserver | undefined {
  const there = observers.filter((one) => one !== undefined);
  if (there.length < 2) return there[0];
  return (event) => {
    for (const observe of there) {
      try {
        observe(event);
      } catch {
        // Its own affair.
      }
    }
  };
}
