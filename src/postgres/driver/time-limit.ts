import { answerWithin } from '../../kernel/answer-within.ts';
import type { Effects } from '../../kernel/effects.ts';
import { HoldfastError } from '../../kernel/error.ts';

/** How long a statement may take before its connection is given up. Far above what any of ours takes. */
export const STATEMENT_LIMIT_MS = 10_000;

/** What `work` gives, or `DATABASE_TIMEOUT` once the time is up; `onTimeout` is called before that. */
export function withinLimit<T>(effects: Effects, work: Promise<T>, onTimeout: () => void): Promise<T> {
  return answerWithin(effects, work, STATEMENT_LIMIT_MS, () => {
    onTimeout();
    return new HoldfastError('DATABASE_TIMEOUT', { timeoutMs: STATEMENT_LIMIT_MS });
  });
}
