import type { RetryObserver } from '../../src/retry/retry-event.ts';
import { virtualTime, type VirtualTime } from '../../src/testing/virtual-time.ts';

/** Sockets are real, waits are not: every wait between attempts is noted and ends at once. */
export interface FastWaits {
  /** Pass both to the client. */
  readonly options: { readonly effects: VirtualTime; readonly observe: RetryObserver };
  readonly time: VirtualTime;
  /** Milliseconds, in order. */
  readonly waits: readonly number[];
  /** Resolves when this many attempts were started. */
  readonly attemptsStarted: (count: number) => Promise<void>;
}

export function fastWaits(): FastWaits {
  const time = virtualTime();
  const waits: number[] = [];
  const listeners = new Set<() => void>();
  let started = 0;
  const observe: RetryObserver = (event) => {
    if (event.type === 'attempt-started') {
      started++;
      for (const listener of listeners) listener();
    }
    if (event.type !== 'wait-started') return;
    waits.push(event.delayMs);
    // The timer of the wait is set after this event.
    setImmediate(() => void time.advance(event.delayMs));
  };
  const attemptsStarted = (count: number): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => {
        if (started < count) return;
        listeners.delete(look);
        resolve();
      };
      listeners.add(look);
      look();
    });
  return { options: { effects: time, observe }, time, waits, attemptsStarted };
}
