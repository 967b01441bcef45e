import type { Io } from './io.ts';

/** Asks a command that goes on to end. */
export interface StopSignals {
  /** Aborted at the first signal. */
  readonly signal: AbortSignal;
  readonly heard: Promise<void>;
  forget(): void;
}

/** The first signal asks for the end, the second does not wait for it. */
export function stopSignals(io: Io, onFirst: (name: 'SIGINT' | 'SIGTERM') => void): StopSignals {
  const stop = new AbortController();
  const heard = new Promise<void>((resolve) => {
    stop.signal.addEventListener('abort', () => resolve(), { once: true });
  });
  const forget = io.onSignal((name) => {
    // 128 and the number of the signal, as a shell would say it.
    if (stop.signal.aborted) io.exit(name === 'SIGINT' ? 130 : 143);
    onFirst(name);
    stop.abort();
  });
  return { signal: stop.signal, heard, forget };
}
