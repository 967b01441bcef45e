import type { Effects } from '../kernel/effects.ts';
import type { Suppressed } from './alert.ts';

/** An alert that may pass now or later, with how many of its group did not. */
interface Waiting {
  readonly send: (suppressed: Suppressed) => void;
  readonly eventId: string;
}

interface Window {
  readonly sinceMs: number;
  /** The latest that was held back. */
  last: Waiting | undefined;
  count: number;
  readonly eventIds: string[];
}

const MAX_IDS = 20;
const MAX_GROUPS = 1_000;

/**
 * Lets the first of a group through at once and holds the others back; when the window ends, the last of them goes out with
 * the number of all. Nothing is forgotten: what is held back is sent by `flush` too.
 */
export class QuietGate {
  readonly #effects: Effects;
  readonly #quietMs: number;
  readonly #windows = new Map<string, Window>();
  #timer: unknown;
  #dueMs = 0;

  constructor(effects: Effects, quietMs: number) {
    this.#effects = effects;
    this.#quietMs = quietMs;
  }

  pass(group: string, waiting: Waiting): void {
    const window = this.#windows.get(group);
    const nowMs = this.#effects.monoMs();
    if (window && nowMs - window.sinceMs < this.#quietMs) {
      // The one that was last until now is one of those that are only counted.
      if (window.last) this.#count(window, window.last.eventId);
      window.last = waiting;
      this.#arm(window.sinceMs + this.#quietMs);
      return;
    }
    // The timer is late: what was held back is counted with this one, so that the two are still one alert.
    if (window?.last) this.#count(window, window.last.eventId);
    this.#windows.delete(group);
    this.#open(group, nowMs);
    waiting.send({ count: window?.count ?? 0, eventIds: window?.eventIds ?? [] });
  }

  /** Sends what is held back, now. */
  flush(): void {
    for (const [group, window] of this.#windows) this.#close(group, window);
    this.#effects.clearTimer(this.#timer);
    this.#timer = undefined;
  }

  #open(group: string, sinceMs: number): void {
    if (this.#windows.size >= MAX_GROUPS) {
      const [oldest] = this.#windows;
      if (oldest) this.#close(...oldest);
    }
    this.#windows.set(group, { sinceMs, last: undefined, count: 0, eventIds: [] });
  }

  #close(group: string, window: Window): void {
    this.#windows.delete(group);
    window.last?.send({ count: window.count, eventIds: window.eventIds });
  }

  #count(window: Window, eventId: string): void {
    window.count++;
    if (window.eventIds.length < MAX_IDS) window.eventIds.push(eventId);
  }

  /** Sets the timer, which may be set already for a window that ends later. */
  #arm(dueMs: number): void {
    if (this.#timer !== undefined && this.#dueMs <= dueMs) return;
    this.#effects.clearTimer(this.#timer);
    this.#dueMs = dueMs;
    this.#timer = this.#effects.setTimer(() => this.#wake(), Math.max(0, dueMs - this.#effects.monoMs()));
  }

  #wake(): void {
    this.#timer = undefined;
    const nowMs = this.#effects.monoMs();
    let nextMs = Infinity;
    for (const [group, window] of this.#windows) {
      const dueMs = window.sinceMs + this.#quietMs;
      // Timers fire up to a millisecond early by the finer clock.
      if (dueMs - nowMs < 1) {
        const held = window.last !== undefined;
        this.#close(group, window);
        // What goes out at the end of a window begins the next.
        if (held) this.#open(group, nowMs);
      } else if (window.last) nextMs = Math.min(nextMs, dueMs);
    }
    if (nextMs !== Infinity) this.#arm(nextMs);
  }
}
