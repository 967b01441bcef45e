import { type Query, type QueryCache, useQueryClient } from '@tanstack/react-query';
import { type ReactElement, useCallback, useSyncExternalStore } from 'react';

/** Something on the page could not be read again. */
interface Stale {
  /** When what is shown was read. */
  readonly sinceMs: number;
  readonly error: Error;
}

/** What is shown is older than it looks, or nothing: of all that is read again the oldest that fails. */
export function useStale(): Stale | undefined {
  const cache = useQueryClient().getQueryCache();
  const subscribe = useCallback((told: () => void) => cache.subscribe(told), [cache]);
  const oldest = useSyncExternalStore(subscribe, () => oldestFailing(cache));
  if (oldest === undefined) return undefined;
  const { dataUpdatedAt, error, fetchFailureReason } = oldest.state;
  return { sinceMs: dataUpdatedAt, error: error ?? fetchFailureReason ?? new Error('it did not answer') };
}

function oldestFailing(cache: QueryCache): Query | undefined {
  const failing = cache.findAll({ type: 'active' }).filter(({ state }) => state.data !== undefined && isFailing(state));
  return failing.sort((a, b) => a.state.dataUpdatedAt - b.state.dataUpdatedAt)[0];
}

function isFailing({ status, fetchFailureCount }: Query['state']): boolean {
  return status === 'error' || fetchFailureCount > 0;
}

/** Says above a page that what it shows cannot be read again: numbers that stand still look like a calm night. */
export function StaleNotice(): ReactElement | null {
  const stale = useStale();
  if (stale === undefined) return null;
  return (
    <div className="error-box" role="alert">
      <strong>No answer since {new Date(stale.sinceMs).toLocaleTimeString()}: what is shown is as of then.</strong>
      <p>{stale.error.message}. It is asked again every few seconds.</p>
    </div>
  );
}
