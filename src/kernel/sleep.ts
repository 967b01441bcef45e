import { linkAbort } from './abort-link.ts';
import type { Effects, Sleep } from './effects.ts';

/**
 * Which clock ends a wait. `monotonic`: the wait lasts its full length of running time, whatever happens to the wall
 * clock. `wall`: it also ends when the wall clock says so, so that a laptop that slept through it goes on at once.
 */
export type WaitClock = 'monotonic' | 'wall';

// Waits are cut into slices. setTimeout fires at once above 2^31-1 ms, and a timer that was set before the machine was
// suspended fires late by the whole nap; a minute bounds that error, at 30 wake-ups for a wait of half an hour.
const SLICE_MS = 60_000;

/**
 * A sleep that rejects with the signal's own reason in the same tick as the abort, waits longer than 2^31 ms correctly,
 * and leaves no timer and no listener behind, whichever way it ends.
 */
export function createSleep(effects: Effects, clock: WaitClock = 'monotonic'): Sleep {
  return (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const start = effects.now();
      let timer: unknown;
      const unlink =
        signal &&
        linkAbort(signal, () => {
          effects.clearTimer(timer);
          reject(signal.reason);
        });
      const wake = (): void => {
        const now = effects.now();
        const passed = now.monoMs - start.monoMs;
        const left = clock === 'wall' ? ms - Math.max(passed, now.wallMs - start.wallMs) : ms - passed;
        // Timers fire up to a millisecond early by the finer clock; setting them again for that would double each wait's cost.
        if (left >= 1) {
          timer = effects.setTimer(wake, Math.min(Math.ceil(left), SLICE_MS));
          return;
        }
        unlink?.();
        resolve();
      };
      wake();
    });
}
