import { answerWithin } from '../kernel/answer-within.ts';
import type { Effects } from '../kernel/effects.ts';
import { HoldfastError } from '../kernel/error.ts';

/** How long the server may take for one answer. */
const ANSWER_LIMIT_MS = 15_000;

/** How long it may take to make indexes: where rows are there already, that is more than a moment. */
export const PREPARE_MS = 300_000;

/** What `work` gives, or `DATABASE_TIMEOUT` once the time is up: a server that hangs must not hold up a stop. */
export function answered<T>(effects: Effects, work: Promise<T>, timeoutMs: number = ANSWER_LIMIT_MS): Promise<T> {
  return answerWithin(effects, work, timeoutMs, () => new HoldfastError('DATABASE_TIMEOUT', { timeoutMs }));
}
