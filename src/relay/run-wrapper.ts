import { wrapped } from '../kernel/wrapped.ts';
import type { Delivery } from './relay-store.ts';

/** Which call of a handler is about to be made. */
export interface RunAbout {
  readonly handler: string;
  readonly delivery: Delivery;
  /** From 1. */
  readonly attempt: number;
  /** The message is handed to a broker; no handler of the service is called. Default false. */
  readonly isPublish?: boolean | undefined;
}

/** The trace that a message goes on with at a broker, as W3C headers. */
export interface CarriedTrace {
  readonly traceparent: string;
  readonly tracestate?: string | undefined;
}

/**
 * Is called around each call of a handler, so that the handler runs in a context of its own: a span, an `AsyncLocalStorage`.
 * Calls `run` once, in its own time, and gives back what it gives: a promise where the handler gave one. It cannot change what becomes
 * of the message. A trace that it gives to `run` goes out with a message that is published, in place of the one it was sent with.
 */
export type RunWrapper = (about: RunAbout, run: (trace?: CarriedTrace) => unknown) => unknown;

/** Calls `run`, inside the wrapper if there is one, exactly once, and gives its own result; without a promise where there is none. */
export function runWrapped<T>(
  wrap: RunWrapper | undefined,
  about: RunAbout,
  run: (trace?: CarriedTrace) => T,
): T | Promise<Awaited<T>> {
  return wrap ? wrapped<T, CarriedTrace>((once) => wrap(about, once), run) : run();
}
