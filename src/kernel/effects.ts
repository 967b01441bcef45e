/**
 * One reading of both clocks. `wallMs` is epoch time and may jump; `monoMs` only goes forward, but stands still while
 * a machine sleeps and means nothing in another process.
 */
export interface Instant {
  readonly wallMs: number;
  readonly monoMs: number;
}

/** The longest a timer can be set to, in milliseconds: the platform's fires at once above it. */
export const LONGEST_TIMER_MS: number = 2 ** 31 - 1;

/** Everything the retry runner does to the world. Handed in, so that tests own time and chance. */
export interface Effects {
  now(): Instant;
  /** The monotonic half of `now()` alone, at half the cost. */
  monoMs(): number;
  /** A number in [0, 1). */
  random(): number;
  /** Calls `wake` once after `ms` (0 … 2^31-1) and gives back what `clearTimer` takes. The timer keeps the process alive. */
  setTimer(wake: () => void, ms: number): unknown;
  clearTimer(timer: unknown): void;
}

/** Waits `ms`, or rejects with the signal's reason as soon as it is aborted. Leaves no timer and no listener behind. */
export type Sleep = (ms: number, signal?: AbortSignal) => Promise<void>;
