import type { ActiveSpan } from '../system/active-span.ts';
import { facts } from './log-retries.ts';
import type { RetryEvent, RetryObserver } from './retry-event.ts';

/**
 * Adds an event to the span for each failed attempt, wait and stop. The span's own status is left alone: an operation
 * that succeeds at last is not an error.
 */
export function traceRetries(span: ActiveSpan): RetryObserver {
  return (event) => {
    if (event.type === 'attempt-started') return;
    const attributes: Record<string, string | number | boolean> = {
      operation: event.operation,
      attempt: event.attempt,
    };
    for (const [name, value] of Object.entries(attributesOf(event))) {
      if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
        attributes[name] = value;
    }
    span.addEvent(`retry.${event.type}`, attributes);
  };
}

function attributesOf(event: RetryEvent): Record<string, unknown> {
  const failure = 'failure' in event && event.failure ? facts(event.failure) : {};
  const key = event.idempotencyKey === undefined ? {} : { idempotencyKey: event.idempotencyKey };
  switch (event.type) {
    case 'attempt-started':
    case 'attempt-succeeded':
    case 'attempt-failed':
    case 'attempt-abandoned':
      return { ...key, ...failure, ...('latencyMs' in event ? { latencyMs: event.latencyMs } : {}) };
    case 'wait-started':
      return { ...key, ...failure, delayMs: event.delayMs, delayFrom: event.from, hintClamped: event.hintClamped };
    case 'wait-ended':
      return { ...key, aborted: event.aborted };
    case 'stopped':
      return { ...key, ...failure, reason: event.reason, attempts: event.attempts, waitedMs: event.waitedMs };
    default:
      return event satisfies never;
  }
}
