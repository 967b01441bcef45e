import type { LogFields, Logger } from '../kernel/log.ts';
import type { Failure } from './failure.ts';
import type { RetryEvent, RetryObserver } from './retry-event.ts';

/**
 * Writes one structured line for each attempt, wait and stop: attempts that went well at `debug`, failures and waits at
 * `warn`, the end of the tries at `error`. Error messages and payloads are not logged, codes are: a message may hold a secret.
 */
export function logRetries(logger: Logger, fields: LogFields = {}): RetryObserver {
  return (event) => {
    const common: LogFields = {
      ...fields,
      operation: event.operation,
      attempt: event.attempt,
      ...(event.maxAttempts === Infinity ? {} : { maxAttempts: event.maxAttempts }),
      ...(event.idempotencyKey === undefined ? {} : { idempotencyKey: event.idempotencyKey }),
    };
    switch (event.type) {
      case 'attempt-started':
        return;
      case 'attempt-succeeded':
        return logger.debug({ ...common, latencyMs: event.latencyMs }, 'attempt succeeded');
      case 'attempt-failed':
        return logger.warn(
          { ...common, latencyMs: event.latencyMs, ...facts(event.failure), errorClass: classOf(event.error) },
          'attempt failed',
        );
      case 'attempt-abandoned':
        return logger.warn(
          { ...common, latencyMs: event.latencyMs },
          'attempt abandoned: the function did not end when its signal was aborted',
        );
      case 'wait-started':
        return logger.warn(
          { ...common, ...facts(event.failure), ...waitFacts(event) },
          'waiting before the next attempt',
        );
      case 'wait-ended':
        return event.aborted ? logger.info(common, 'wait aborted') : undefined;
      case 'stopped': {
        const line = {
          ...common,
          reason: event.reason,
          attempts: event.attempts,
          waitedMs: event.waitedMs,
          ...(event.failure ? facts(event.failure) : {}),
        };
        return event.reason === 'aborted'
          ? logger.info(line, 'operation aborted')
          : logger.error(line, 'operation gave up');
      }
      default:
        return event satisfies never;
    }
  };
}

/** What logs and spans say of a failure. */
export function facts(failure: Failure): LogFields {
  return {
    retryable: failure.verdict === 'retry',
    errorKind: failure.kind,
    ...(failure.status === undefined ? {} : { httpStatus: failure.status }),
    ...(failure.code === undefined ? {} : { errorCode: failure.code }),
    ...(failure.nestedAttempts === undefined ? {} : { nestedAttempts: failure.nestedAttempts }),
  };
}

function waitFacts(event: RetryEvent & { type: 'wait-started' }): LogFields {
  return {
    delayMs: event.delayMs,
    dueAt: new Date(event.dueAtMs).toISOString(),
    delayFrom: event.from,
    ...(event.hintClamped ? { hintClamped: true } : {}),
  };
}

/** The constructor's name of a thrown value; never its text. */
function classOf(error: unknown): string {
  if (error === null || typeof error !== 'object') return typeof error;
  try {
    const name: unknown = error.constructor?.name;
    return typeof name === 'string' && name !== '' ? name : 'object';
  } catch {
    return 'object';
  }
}
