import type { LogFields, Logger } from '../kernel/log.ts';
import type { RetryEvent, RetryObserver } from '../retry/retry-event.ts';
import type { ActiveSpan } from '../system/active-span.ts';
import type { RequestPlan } from './request-options.ts';

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
