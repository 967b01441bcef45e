import type { AttemptContext } from '../../src/index.ts';
import type { VirtualTime } from '../../src/testing/virtual-time.ts';

/** A failure every classifier retries. */
export const unavailable = (): Error => Object.assign(new Error('down'), { status: 503 });

/** A failure no classifier retries. */
export const notFound = (): Error => Object.assign(new Error('gone'), { status: 404 });

/** A function that fails as listed, then succeeds, and keeps what it was called with. */
export function scripted<T>(
  failures: readonly unknown[],
  value: T,
): { fn: (ctx: AttemptContext) => Promise<T>; seen: AttemptContext[] } {
  const seen: AttemptContext[] = [];
  const left = [...failures];
  const fn = async (ctx: AttemptContext): Promise<T> => {
    seen.push(ctx);
    if (left.length > 0) throw left.shift();
    return value;
  };
  return { fn, seen };
}

/** Runs in virtual time and gives back how it ended, as a value. */
export function outcome<T>(time: VirtualTime, running: Promise<T>): Promise<{ value: T } | { error: unknown }> {
  return time.settle(
    running.then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    ),
  );
}
