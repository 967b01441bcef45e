import { createSleep } from '../kernel/sleep.ts';
import { systemEffects } from '../system/effects.ts';

const sleep = createSleep(systemEffects);
const LOOK_EVERY_MS = 10;

/** Asks until the answer is yes, or the time is up. Answers which. Rejects when the drill is stopped. */
export async function until(
  question: () => Promise<boolean> | boolean,
  { withinMs, signal, everyMs = LOOK_EVERY_MS }: { withinMs: number; signal: AbortSignal; everyMs?: number },
): Promise<boolean> {
  const endMs = systemEffects.monoMs() + withinMs;
  for (;;) {
    signal.throwIfAborted();
    if (await question()) return true;
    if (systemEffects.monoMs() >= endMs) return false;
    await sleep(everyMs, signal);
  }
}
