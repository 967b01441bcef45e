import type { Effects } from '../../kernel/effects.ts';
import { HoldfastError } from '../../kernel/error.ts';

/** How long a statement may take before its connection is given up. Far above what any of ours takes. */
export const STATEMENT_LIMIT_MS = 10_000;

/** What `work` gives, or `DATABASE_TIMEOUT` once the time is up; `onTimeout` is called before that. Leaves no timer. */
export async function withinLimit<T>(effects: Effects, work: Promise<T>, onTimeout: () => void): Promise<T> {
  let timer: unknown;
  const late = new Promise<never>((_, reject) => {
    timer = effects.setTimer(() => {
      onTimeout();
      reject(new HoldfastError('DATABASE_TIMEOUT', { timeoutMs: STATEMENT_LIMIT_MS }));
    }, STATEMENT_LIMIT_MS);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    effects.clearTimer(timer);
    // What ends after its time has no reader any more.
    work.catch(() => undefined);
  }
}
