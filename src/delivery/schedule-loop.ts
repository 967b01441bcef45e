import type { Effects } from '../kernel/effects.ts';
import type { Schedules } from './schedules.ts';

/** What the loop needs. */
export interface ScheduleLoopHost {
  readonly effects: Effects;
  readonly schedules: Pick<Schedules, 'fire'>;
  readonly storeFailed: (error: unknown) => void;
}

// A schedule that is made, or brought forward, by another process is seen after this long at the latest.
const LOOK_MS = 1_000;

/** Publishes what is scheduled when it is due. Of several processes each does; the database lets one of them. */
export class ScheduleLoop {
  readonly #host: ScheduleLoopHost;
  #timer: unknown;
  #firing: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(host: ScheduleLoopHost) {
    this.#host = host;
  }

  start(): void {
    this.#firing = this.#fire();
  }

  /** May be called twice. What is being published is waited for. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#host.effects.clearTimer(this.#timer);
    await this.#firing;
  }

  async #fire(): Promise<void> {
    const { effects, schedules, storeFailed } = this.#host;
    let waitMs = LOOK_MS;
    try {
      const { wallMs } = effects.now();
      const { nextAt } = await schedules.fire(new Date(wallMs));
      if (nextAt) waitMs = Math.min(LOOK_MS, Math.max(0, nextAt.getTime() - effects.now().wallMs));
    } catch (error) {
      storeFailed(error);
    }
    if (this.#isStopped) return;
    this.#timer = effects.setTimer(() => this.start(), Math.max(1, waitMs));
  }
}
