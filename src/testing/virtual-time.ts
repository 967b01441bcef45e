import { type Effects, LONGEST_TIMER_MS } from '../kernel/effects.ts';
import { type Timer, TimerQueue } from './timer-queue.ts';

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

/** What `virtualTime` takes. Every field may be left out. */
export interface VirtualTimeOptions {
  /** Where the wall clock starts. Default: the first of January 2026. */
  readonly wallMs?: number | undefined;
  /**
   * Ends when every promise that can settle without time has done so. Default: 250 turns of the microtask queue, which is
   * enough for most chains; a turn of the platform's own event loop is enough for all, and cheaper.
   */
  readonly settled?: (() => Promise<void>) | undefined;
}

/** A clock that starts at `wallMs` and at monotonic 0. */
export function virtualTime(options: VirtualTimeOptions = {}): VirtualTime {
  let wallMs = options.wallMs ?? Date.UTC(2026, 0, 1);
  let monoMs = 0;
  const timers = new TimerQueue();
  const settled = options.settled ?? microtaskTurns;
  const draws: number[] = [];

  const moveTo = (targetMs: number): void => {
    wallMs += targetMs - monoMs;
    monoMs = targetMs;
  };
  const fire = async (timer: Timer): Promise<void> => {
    moveTo(Math.max(monoMs, timer.dueMs));
    timers.unset(timer);
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
      return timers.set(wake, monoMs + ms);
    },
    clearTimer(timer) {
      if (timer !== undefined && timer !== null) timers.unset(timer as Timer);
    },
    async advance(ms) {
      await settled();
      const target = monoMs + ms;
      for (let timer = timers.next(); timer && timer.dueMs <= target; timer = timers.next()) await fire(timer);
      moveTo(target);
    },
    async settle(promise) {
      let done = false;
      const finish = (): void => void (done = true);
      promise.then(finish, finish);
      for (await settled(); !done;) {
        const timer = timers.next();
        if (!timer) throw new Error('the promise waits for something other than time: no timer is set');
        await fire(timer);
      }
      return promise;
    },
    suspend: (ms) => void (wallMs += ms),
    jumpWall: (ms) => void (wallMs += ms),
    draw: (...numbers) => void draws.push(...numbers),
    get pendingTimers() {
      return timers.pending;
    },
  };
}

// More than an abandoned attempt is given to hand over its value, plus what the caller's own chain takes.
const TURNS = 250;

async function microtaskTurns(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn++) await Promise.resolve();
}
