import type { RetryEvent, RetryObserver } from './retry-event.ts';

/** Counters by name and labels, as Prometheus would show them: `retry_stopped_total{operation="charge",reason="attempts"}`. */
export interface RetryCounters {
  readonly observe: RetryObserver;
  /** A copy of all counters as they stand. */
  read(): ReadonlyMap<string, number>;
}

/**
 * Counts what retries do in this process. `operation` becomes a label, so name operations, not requests. Errors that no
 * rule knows are counted on their own: `retry_unknown_errors_total` above zero means a classifier wants a new line.
 */
export function countRetries(): RetryCounters {
  const counters = new Map<string, number>();
  const add = (name: string, labels: Record<string, string>): void => {
    const text = Object.entries(labels).map(([label, value]) => `${label}=${JSON.stringify(value)}`);
    const id = `${name}{${text.join(',')}}`;
    counters.set(id, (counters.get(id) ?? 0) + 1);
  };
  return { observe: (event) => count(event, add), read: () => new Map(counters) };
}

function count(event: RetryEvent, add: (name: string, labels: Record<string, string>) => void): void {
  const { operation } = event;
  switch (event.type) {
    case 'attempt-started':
      return add('retry_attempts_total', { operation });
    case 'attempt-failed':
      if (event.failure.kind === 'unknown') add('retry_unknown_errors_total', { operation });
      if (event.failure.nestedAttempts !== undefined) add('retry_nested_total', { operation });
      return;
    case 'attempt-abandoned':
      return add('retry_abandoned_total', { operation });
    case 'wait-started':
      if (event.hintClamped) add('retry_hint_clamped_total', { operation });
      return add('retry_waits_total', { operation, from: event.from });
    case 'stopped':
      return add('retry_stopped_total', { operation, reason: event.reason });
    case 'attempt-succeeded':
    case 'wait-ended':
      return;
    default:
      return event satisfies never;
  }
}
