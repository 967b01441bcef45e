import type { Effects } from './effects.ts';

/** What `work` gives, or what `onLate` makes of it once the time is up. Leaves no timer; what ends after its time has no reader any more. */
export async function answerWithin<T>(
  effects: Effects,
  work: Promise<T>,
  timeoutMs: number,
  onLate: () => Error,
): Promise<T> {
  let timer: unknown;
  const late = new Promise<never>((_, reject) => {
    timer = effects.setTimer(() => reject(onLate()), timeoutMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    effects.clearTimer(timer);
    work.catch(() => undefined);
  }
}
