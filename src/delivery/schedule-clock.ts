import type { Effects } from '../kernel/effects.ts';
import { systemEffects } from '../system/effects.ts';
import type { Schedules } from './schedules.ts';

/** What a clock of schedules is made of. */
export interface ScheduleClockOptions {
  readonly schedules: Pick<Schedules, 'fire' | 'onChange'>;
  /** At least so often it is looked what is due: another process may have made a schedule, or the clock was set. Default 5,000. */
  readonly lookEveryMs?: number | undefined;
  /** Told of what went wrong; it is tried again at the next look. */
  readonly onError?: ((error: unknown) => void) | undefined;
  readonly effects?: Effects | undefined;
}

const LOOK_EVERY_MS = 5_000;

/** Publishes what is due by schedule, at its time. Any number of processes may run one: each time is published once. */
export class ScheduleClock {
  readonly #options: ScheduleClockOptions;
  readonly #effects: Effects;
  #isRunning = false;
  #timer: unknown;
  #look: Promise<void> | undefined;
  #isAskedAgain = false;
  #unsubscribe: (() => void) | undefined;

  constructor(options: ScheduleClockOptions) {
    this.#options = options;
    this.#effects = options.effects ?? systemEffects;
  }

  /** Begins at once. May be called twice. */
  start(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#unsubscribe = this.#options.schedules.onChange(() => this.look());
    this.look();
  }

  /** Looks now what is due, or again when the look that runs has ended. */
  look(): void {
    if (!this.#isRunning) return;
    if (this.#look !== undefined) {
      this.#isAskedAgain = true;
      return;
    }
    this.#effects.clearTimer(this.#timer);
    this.#look = this.#fire();
  }

  /** Resolves when what was being published is. May be called twice. */
  async stop(): Promise<void> {
    this.#isRunning = false;
    this.#effects.clearTimer(this.#timer);
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
    await this.#look;
  }

  async #fire(): Promise<void> {
    const most = this.#options.lookEveryMs ?? LOOK_EVERY_MS;
    let waitMs = most;
    try {
      const { nextAt } = await this.#options.schedules.fire(new Date(this.#effects.now().wallMs));
      if (nextAt !== undefined) waitMs = Math.min(most, Math.max(0, nextAt.getTime() - this.#effects.now().wallMs));
    } catch (error) {
      this.#options.onError?.(error);
    }
    this.#look = undefined;
    if (!this.#isRunning) return;
    const isAskedAgain = this.#isAskedAgain;
    this.#isAskedAgain = false;
    this.#timer = this.#effects.setTimer(() => this.look(), isAskedAgain ? 0 : waitMs);
  }
}
