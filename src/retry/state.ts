import type { Instant } from '../kernel/effects.ts';
import type { RetryState } from '../kernel/retry-state.ts';

/** The state before the first attempt. */
export function initialState(now: Instant): RetryState {
  return { v: 1, attempts: 0, waitedMs: 0, lastDelayMs: 0, startedAt: now };
}

/**
 * Takes up a state that was kept elsewhere: what is left of the wait (0 when it is overdue: one attempt at once, not
 * one for each that was missed), and the state with the monotonic start moved to this process's clock. Counters and
 * the place in the schedule stay. A wall clock that went back can lengthen the wait by no more than its own length.
 */
export function resume(state: RetryState, now: Instant): { readonly waitMs: number; readonly state: RetryState } {
  const left = state.dueAtMs === undefined ? 0 : state.dueAtMs - now.wallMs;
  const elapsed = Math.max(0, now.wallMs - state.startedAt.wallMs);
  return {
    waitMs: Math.min(Math.max(0, left), state.lastDelayMs),
    state: { ...state, startedAt: { wallMs: state.startedAt.wallMs, monoMs: now.monoMs - elapsed } },
  };
}

/** Running time since the first attempt started, by the clock the policy trusts; never negative. */
export function elapsedMs(state: RetryState, now: Instant, clock: 'monotonic' | 'wall'): number {
  const passed = clock === 'wall' ? now.wallMs - state.startedAt.wallMs : now.monoMs - state.startedAt.monoMs;
  return Math.max(0, passed);
}
