import type { Effects } from '../kernel/effects.ts';
import { HoldfastError } from '../kernel/error.ts';

/**
 * What `ask` answers, or a rejection with `IDEMPOTENCY_STORE_TIMEOUT` when that takes longer than `timeoutMs`; what it answers
 * later is dropped. Leaves no timer behind.
 */
export function answerWithin<T>(effects: Effects, timeoutMs: number, call: string, ask: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = effects.setTimer(() => {
      reject(new HoldfastError('IDEMPOTENCY_STORE_TIMEOUT', { call, timeoutMs }));
    }, timeoutMs);
    const answered = (answer: T): void => {
      effects.clearTimer(timer);
      resolve(answer);
    };
    const fail = (error: unknown): void => {
      effects.clearTimer(timer);
      reject(error instanceof Error ? error : new Error(`the store rejected with ${typeof error}`, { cause: error }));
    };
    try {
      ask().then(answered, fail);
    } catch (error) {
      fail(error);
    }
  });
}
