import { type Effects, LONGEST_TIMER_MS } from '../kernel/effects.ts';

/** Time that moves only when told to. Hand it in as `effects`; eight hours of retries then take a millisecond. */
export interface VirtualTime extends Effects {
  /** Moves both clocks, firing the timers on the way in order and letting promises settle after each. */
  advance(ms: number): Promise<void>;
  /** Fires timers, one after the other, until the promise settles; then gives or throws what it settled with. */
  settle<T>(promise: Promise<T>): Promise<T>;
  /** The machine sleeps: the wall clock moves, the monotonic one and all timers stand still. */
  suspend(ms: number): void;
  /** Somebody sets the wall clock; negative sets it back. */
  jumpWall(ms: number): void;
  /** What the coming `random()` calls give; after them, `0.5`. */
  draw(...numbers: number[]): void;
  /** Timers that are set and neither fired nor cleared. */
  readonly pendingTimers: number;
}

interface Timer {
  readonly dueMs: number;
  readonly order: number;
  readonly wake: () => void;
}

/** A clock that starts at `wallMs` (default: the first of January 2026) and at monotonic 0. */
export function virtualTime(options: { wallMs?: number } = {}): VirtualTime {
  let wallMs = options.wallMs ?? Date.UTC(2026, 0, 1);
  let monoMs = 0;
  let order = 0;
  const timers = new Set<Timer>();
  const draws: number[] = [];

  const next = (): Timer | undefined => [...timers].sort((a, b) => a.dueMs - b.dueMs || a.order - b.order)[0];
  const moveTo = (targetMs: number): void => {
    wallMs += targetMs - monoMs;
    monoMs = targetMs;
  };
  const fire = async (timer: Timer): Promise<void> => {
    moveTo(Math.max(monoMs, timer.dueMs));
    timers.delete(timer);
    timer.wake();
    await settled();
  };

  return {
    now: () => ({ wallMs, monoMs }),
    monoMs: () => monoMs,
    random: () => draws.shift() ?? 0.5,
    setTimer(wake, ms) {
      if (!(ms >= 0 && ms <= LONGEST_TIMER_MS)) {
        throw new RangeError(`a timer of ${ms} ms: the real one would fire at once; set it between 0 and 2^31-1`);
      }
      const timer = { wake, dueMs: monoMs + ms, order: order++ };
      timers.add(timer);
      return timer;
    },
    clearTimer: (timer) => void timers.delete(timer as Timer),
    async advance(ms) {
      await settled();
      const target = monoMs + ms;
      for (let timer = next(); timer && timer.dueMs <= target; timer = next()) await fire(timer);
      moveTo(target);
    },
    async settle(promise) {
      let done = false;
      const finish = (): void => void (done = true);
      promise.then(finish, finish);
      for (await settled(); !done;) {
        const timer = next();
        if (!timer) throw new Error('the promise waits for something other than time: no timer is set');
        await fire(timer);
      }
      return promise;
    },
    suspend: (ms) => void (wallMs += ms),
    jumpWall: (ms) => void (wallMs += ms),
    draw: (...numbers) => void draws.push(...numbers),
    get pendingTimers() {
      return timers.size;
    },
  };
}

// More than an abandoned attempt is given to hand over its value, plus what the caller's own chain takes.
const TURNS = 250;

/** Lets every promise that can settle without time do so. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn++) await Promise.resolve();
}
