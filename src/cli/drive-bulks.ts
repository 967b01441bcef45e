import type { Effects } from '../kernel/effects.ts';
import { createSleep } from '../kernel/sleep.ts';
import type { Operator } from '../operator/operator.ts';

const IDLE_MS = 2_000;
const AFTER_FAILURE_MS = 5_000;

/** Carries on bulk operations until the signal is aborted. What fails is tried again: they are durable. */
export async function driveBulks(operator: Operator, effects: Effects, signal: AbortSignal): Promise<void> {
  const sleep = createSleep(effects);
  while (!signal.aborted) {
    const waitMs = await operator
      .stepBulks()
      .then(({ againInMs }) => Math.min(againInMs ?? IDLE_MS, IDLE_MS))
      .catch(() => AFTER_FAILURE_MS);
    await sleep(waitMs, signal).catch(() => undefined);
  }
}
