import { answerWithin } from '../kernel/answer-within.ts';
import type { Effects } from '../kernel/effects.ts';
import { HoldfastError } from '../kernel/error.ts';

/** How long a broker may take for one answer before its connection is doubted. */
const ANSWER_LIMIT_MS = 10_000;

/** What `work` gives, or `BROKER_TIMEOUT` once the time is up. */
export function within<T>(effects: Effects, work: Promise<T>, timeoutMs: number = ANSWER_LIMIT_MS): Promise<T> {
  return answerWithin(effects, work, timeoutMs, () => new HoldfastError('BROKER_TIMEOUT', { timeoutMs }));
}
