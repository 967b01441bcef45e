import type { Effects } from '../../kernel/effects.ts';

/**
 * Runs the job again and again, so long after it has ended; one that fails is run again too: the database may be away. Answers what
 * stops it and waits for the run that is under way.
 */
export function runsRegularly(effects: Effects, everyMs: number, job: () => Promise<unknown>): () => Promise<void> {
  let isStopped = false;
  let timer: unknown;
  let running: Promise<unknown> = Promise.resolve();
  const later = (): void => {
    if (isStopped) return;
    timer = effects.setTimer(() => {
      running = job()
        .catch(() => undefined)
        .then(later);
    }, everyMs);
  };
  later();
  return async () => {
    isStopped = true;
    effects.clearTimer(timer);
    await running;
  };
}
