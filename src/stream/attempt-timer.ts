import { type Effects, LONGEST_TIMER_MS } from '../kernel/effects.ts';

/** Bounds of one attempt; each may be left out. A slow consumer counts against `totalMs` only. */
export interface StreamTimeouts {
  /** Until `open` has given its stream: for HTTP clients, until the response headers. */
  readonly openMs?: number | undefined;
  /** From the start of the attempt to the first content. Keep-alives and preamble do not help. */
  readonly firstContentMs?: number | undefined;
  /** Between two chunks of any kind, keep-alives included. */
  readonly idleMs?: number | undefined;
  /** The whole attempt. */
  readonly totalMs?: number | undefined;
}

/**
 * Watches the bounds of one attempt with one timer. A bound that moves later costs nothing: the timer fires at the old
 * time, sees that it is early, and is set again. So a chunk costs a clock reading, not a timer.
 */
export class AttemptTimer {
  private readonly timeouts: StreamTimeouts;
  private readonly effects: Effects;
  private readonly onDue: (bound: keyof StreamTimeouts, timeoutMs: number) => void;
  private readonly dueAt = new Map<keyof StreamTimeouts, number>();
  private timer: unknown;
  private timerAt = Infinity;

  constructor(
    timeouts: StreamTimeouts,
    effects: Effects,
    onDue: (bound: keyof StreamTimeouts, timeoutMs: number) => void,
  ) {
    this.timeouts = timeouts;
    this.effects = effects;
    this.onDue = onDue;
  }

  /** Starts a bound, or starts it again from now. Does nothing for one that was left out. */
  start(bound: keyof StreamTimeouts): void {
    const timeoutMs = this.timeouts[bound];
    if (timeoutMs === undefined || timeoutMs === Infinity) return;
    const at = this.effects.now().monoMs + timeoutMs;
    this.dueAt.set(bound, at);
    if (at < this.timerAt) this.arm(at);
  }

  /** Takes a bound off. */
  stop(bound: keyof StreamTimeouts): void {
    this.dueAt.delete(bound);
  }

  /** Takes all bounds off and leaves no timer behind. */
  stopAll(): void {
    this.dueAt.clear();
    this.disarm();
  }

  private arm(at: number): void {
    this.disarm();
    this.timerAt = at;
    const ms = Math.max(0, Math.ceil(at - this.effects.now().monoMs));
    this.timer = this.effects.setTimer(() => this.wake(), Math.min(ms, LONGEST_TIMER_MS));
  }

  private disarm(): void {
    if (this.timer !== undefined) this.effects.clearTimer(this.timer);
    this.timer = undefined;
    this.timerAt = Infinity;
  }

  private wake(): void {
    this.timer = undefined;
    this.timerAt = Infinity;
    const [bound, at] = this.earliest();
    if (bound === undefined) return;
    if (this.effects.now().monoMs < at) return this.arm(at);
    this.dueAt.delete(bound);
    this.onDue(bound, this.timeouts[bound] ?? 0);
  }

  private earliest(): [keyof StreamTimeouts | undefined, number] {
    let first: keyof StreamTimeouts | undefined;
    let firstAt = Infinity;
    for (const [bound, at] of this.dueAt) {
      if (at < firstAt) [first, firstAt] = [bound, at];
    }
    return [first, firstAt];
  }
}
