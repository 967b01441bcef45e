import type { Effects } from '../kernel/effects.ts';
import { HoldfastError } from '../kernel/error.ts';

/** How long a broker may take for one answer before its connection is doubted. */
const ANSWER_LIMIT_MS = 10_000;

/** What `work` gives, or `BROKER_TIMEOUT` once the time is up. Leaves no timer. */
export async function within<T>(effects: Effects, work: Promise<T>, timeoutMs: number = ANSWER_LIMIT_MS): Promise<T> {
  let timer: unknown;
  const late = new Promise<never>((_, reject) => {
    timer = effects.setTimer(() => reject(new HoldfastError('BROKER_TIMEOUT', { timeoutMs })), timeoutMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    effects.clearTimer(timer);
    work.catch(() => undefined);
  }
}
