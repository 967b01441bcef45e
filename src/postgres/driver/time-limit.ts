import { answerWithin } from '../../kernel/answer-within.ts';
import type { Effects } from '../../kernel/effects.ts';
import { HoldfastError } from '../../kernel/error.ts';

/** How long the database may take for one answer unless it is said otherwise. Far above what any of our statements takes. */
export const ANSWER_TIMEOUT_MS = 10_000;

/** What `answerTimeoutMs` may be: less than 10 would give up on healthy servers. */
export const ANSWER_TIMEOUT_RULE: { readonly min: number; readonly max: number; readonly write: string } = {
  min: 10,
  max: 3_600_000,
  write: 'write milliseconds from 10 to one hour',
};

/** What `work` gives, or `DATABASE_TIMEOUT` once the time is up; `onTimeout` is called before that. */
export function withinLimit<T>(
  effects: Effects,
  work: Promise<T>,
  onTimeout: () => void,
  timeoutMs: number = ANSWER_TIMEOUT_MS,
): Promise<T> {
  return answerWithin(effects, work, timeoutMs, () => {
    onTimeout();
    return new HoldfastError('DATABASE_TIMEOUT', { timeoutMs });
  });
}
