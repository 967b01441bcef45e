import type { Effects } from '../kernel/effects.ts';
import { letProcessEnd } from '../system/effects.ts';

/** Something the store has to be told again. */
export interface Repetition {
  /** Tells it. Answers after how many milliseconds to tell it once more, or nothing when it is done. Rejects: again, a little later. */
  attempt(): Promise<number | undefined>;
  /** By the monotonic clock: after that there is no use in it. */
  readonly untilMs: number;
  /** By the monotonic clock: until then a process that has nothing else to do waits for it. */
  readonly holdsProcessUntilMs: number;
}

interface Job {
  dueMs: number;
  failures: number;
}

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;
// So many failures in a row are the store's, not those of the records: the others would only fail as well.
const FAILURES_IN_A_ROW = 3;
const REST_MS = 1_000;
// Each may hold a reply. More than these come together only when a store fails under full load for minutes.
const MOST_JOBS = 10_000;

/**
 * Tells a store what it has not confirmed until it has, one after the other, so that a store that comes back is not run over. Uses one
 * timer, and none when there is nothing to tell.
 */
export class Repeater {
  readonly #effects: Effects;
  readonly #jobs = new Map<Repetition, Job>();
  #timer: unknown;
  #timerDueMs = Infinity;
  #isPassing = false;
  #restUntilMs = 0;

  constructor(effects: Effects) {
    this.#effects = effects;
  }

  /** Tells it first after `delayMs`. One that is there already is told then instead. */
  add(repetition: Repetition, delayMs: number = FIRST_PAUSE_MS): void {
    const dueMs = this.#effects.monoMs() + delayMs;
    const job = this.#jobs.get(repetition);
    if (job) job.dueMs = dueMs;
    else this.#jobs.set(repetition, { dueMs, failures: 0 });
    const [oldest] = this.#jobs.keys();
    if (this.#jobs.size > MOST_JOBS && oldest) this.#jobs.delete(oldest);
    if (dueMs < this.#timerDueMs) this.#setTimer(dueMs);
  }

  remove(repetition: Repetition): void {
    this.#jobs.delete(repetition);
    if (this.#jobs.size === 0) this.#clearTimer();
  }

  #setTimer(dueMs: number): void {
    if (this.#isPassing) return;
    this.#clearTimer();
    const now = this.#effects.monoMs();
    const at = Math.max(dueMs, this.#restUntilMs, now);
    this.#timerDueMs = at;
    this.#timer = this.#effects.setTimer(() => void this.#pass(), Math.ceil(at - now));
    let holdsUntilMs = 0;
    for (const repetition of this.#jobs.keys()) holdsUntilMs = Math.max(holdsUntilMs, repetition.holdsProcessUntilMs);
    if (holdsUntilMs <= now) letProcessEnd(this.#timer);
  }

  #clearTimer(): void {
    if (this.#timer !== undefined) this.#effects.clearTimer(this.#timer);
    this.#timer = undefined;
    this.#timerDueMs = Infinity;
  }

  async #pass(): Promise<void> {
    this.#clearTimer();
    this.#isPassing = true;
    let failures = 0;
    for (const [repetition, job] of this.#jobs) {
      const now = this.#effects.monoMs();
      if (repetition.untilMs <= now) this.#jobs.delete(repetition);
      else if (job.dueMs <= now) failures = (await this.#attempt(repetition, job)) ? 0 : failures + 1;
      if (failures === FAILURES_IN_A_ROW) {
        this.#restUntilMs = this.#effects.monoMs() + REST_MS;
        break;
      }
    }
    this.#isPassing = false;
    let dueMs = Infinity;
    for (const job of this.#jobs.values()) dueMs = Math.min(dueMs, job.dueMs);
    if (dueMs < Infinity) this.#setTimer(dueMs);
  }

  async #attempt(repetition: Repetition, job: Job): Promise<boolean> {
    // What is added again meanwhile is due then, whatever this attempt answers.
    job.dueMs = Infinity;
    const again = await repetition.attempt().then(
      (delayMs) => ({ delayMs, isFailure: false }),
      () => ({ delayMs: Math.min(FIRST_PAUSE_MS * 2 ** job.failures, LONGEST_PAUSE_MS), isFailure: true }),
    );
    job.failures = again.isFailure ? job.failures + 1 : 0;
    if (again.delayMs !== undefined) job.dueMs = Math.min(job.dueMs, this.#effects.monoMs() + again.delayMs);
    else if (job.dueMs === Infinity) this.#jobs.delete(repetition);
    return !again.isFailure;
  }
}
