import type { LogFields, Logger } from '../kernel/log.ts';
import { activeSpan } from '../system/active-span.ts';
import { logRetries } from './log-retries.ts';
import type { RetryObserver } from './retry-event.ts';
import { traceRetries } from './trace-retries.ts';

/**
 * One function that tells all who listen: the logger, the application's active span, the caller's observer. Nothing when
 * nobody does. What a listener throws is its own affair.
 */
export function allObservers(listeners: {
  readonly logger?: Logger | undefined;
  readonly logFields?: LogFields | undefined;
  readonly observe?: RetryObserver | undefined;
}): RetryObserver | undefined {
  const { logger, logFields, observe } = listeners;
  const span = activeSpan();
  if (!logger && !observe && !span) return undefined;
  const observers: RetryObserver[] = [];
  if (logger) observers.push(logRetries(logger, logFields));
  if (span) observers.push(traceRetries(span));
  if (observe) observers.push(observe);
  return (event) => {
    for (const observer of observers) {
      try {
        observer(event);
      } catch {
        // A broken logger must not turn a payment that went through into one that is tried again.
      }
    }
  };
}
