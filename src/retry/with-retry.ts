import type { Attemptable } from './attempt.ts';
import { Operation } from './operation.ts';
import { checkRetryOptions, planRetry, type RetryOptions } from './retry-options.ts';

/**
 * Runs `fn` until it succeeds or the policy says stop. Each attempt is bounded by its timeout, the caller's signal and
 * the deadline. Rejects with: the error itself when it was not worth a second attempt; `RETRY_STOPPED`, with the last
 * error as `cause`, when attempts were made and did not help; the signal's own reason when the caller aborted.
 */
export function withRetry<T>(
  operation: string,
  fn: Attemptable<T, string>,
  options: RetryOptions & { readonly idempotencyKey: string },
): Promise<T>;
export function withRetry<T>(operation: string, fn: Attemptable<T>, options?: RetryOptions): Promise<T>;
export function withRetry<T>(operation: string, fn: Attemptable<T, string>, options?: RetryOptions): Promise<T> {
  // Not an async function: one around another's promise costs as much as the whole loop (bench/retry).
  try {
    return new Operation(operation, fn as Attemptable<T>, planRetry(operation, fn, options)).run();
  } catch (error) {
    return Promise.reject(error);
  }
}

/** `withRetry` with defaults of your own: a logger, a policy, a classifier, a shared budget. A call's own options win. */
export function createRetry(defaults: RetryOptions): typeof withRetry {
  checkRetryOptions('createRetry()', defaults);
  return <T>(operation: string, fn: Attemptable<T, string>, options?: RetryOptions): Promise<T> => {
    const own = Object.fromEntries(Object.entries(options ?? {}).filter(([, value]) => value !== undefined));
    const logFields = { ...defaults.logFields, ...options?.logFields };
    return withRetry(operation, fn as Attemptable<T>, { ...defaults, ...own, logFields });
  };
}
