import type { Effects } from '../kernel/effects.ts';

/** The real clocks, timers and chance. The only place in the package that touches them. */
export const systemEffects: Effects = {
  now: () => ({ wallMs: Date.now(), monoMs: performance.now() }),
  monoMs: () => performance.now(),
  random: () => Math.random(),
  setTimer: (wake, ms) => setTimeout(wake, ms),
  clearTimer: (timer) => clearTimeout(timer as ReturnType<typeof setTimeout>),
};

/** Lets the process end although this timer is set, where the platform knows such a thing. */
export function letProcessEnd(timer: unknown): void {
  (timer as { unref?: () => void } | undefined)?.unref?.();
}
