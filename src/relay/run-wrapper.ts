import type { Delivery } from './relay-store.ts';

/** Which call of a handler is about to be made. */
export interface RunAbout {
  readonly handler: string;
  readonly delivery: Delivery;
  /** From 1. */
  readonly attempt: number;
}

/**
 * Is called around each call of a handler, so that the handler runs in a context of its own: a span, an `AsyncLocalStorage`.
 * Calls `run` once and gives back what it gives. It cannot change what becomes of the message.
 */
export type RunWrapper = (about: RunAbout, run: () => Promise<unknown>) => unknown;

/**
 * Calls `run`, inside the wrapper if there is one, exactly once, and gives its own result: a wrapper that throws, calls it
 * twice or forgets to call it has no say in whether the message was handled.
 */
export function runWrapped<T>(wrap: RunWrapper | undefined, about: RunAbout, run: () => Promise<T>): Promise<T> {
  if (!wrap) return run();
  return new Promise((resolve, reject) => {
    let started: Promise<T> | undefined;
    const once = (): Promise<T> => {
      if (started) return started;
      started = (async () => run())();
      started.then(resolve, reject);
      return started;
    };
    const inAnyCase = (): void => void once();
    (async () => wrap(about, once))().then(inAnyCase, inAnyCase);
  });
}
