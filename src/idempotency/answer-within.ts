import type { Effects } from '../kernel/effects.ts';
import { HoldfastError } from '../kernel/error.ts';

/**
 * What `ask` answers, or a rejection with `IDEMPOTENCY_STORE_TIMEOUT` when that takes longer than `timeoutMs`; what it answers
 * later is dropped. `onFailure` is told of the rejection first. Leaves no timer behind.
 */
export function answerWithin<T>(
  effects: Effects,
  timeoutMs: number,
  call: string,
  ask: () => Promise<T>,
  onFailure?: (error: Error) => void,
): Promise<T> {
  return new Promise((resolve, reject) => {
    let isOver = false;
    const refuse = (error: Error): void => {
      if (isOver) return;
      isOver = true;
      onFailure?.(error);
      reject(error);
    };
    const timer = effects.setTimer(() => {
      refuse(new HoldfastError('IDEMPOTENCY_STORE_TIMEOUT', { call, timeoutMs }));
    }, timeoutMs);
    const answered = (answer: T): void => {
      effects.clearTimer(timer);
      resolve(answer);
    };
    const fail = (error: unknown): void => {
      effects.clearTimer(timer);
      refuse(error instanceof Error ? error : new Error(`the store rejected with ${typeof error}`, { cause: error }));
    };
    try {
      ask().then(answered, fail);
    } catch (error) {
      fail(error);
    }
  });
}
