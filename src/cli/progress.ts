import type { Io } from './io.ts';
import type { Output } from './output.ts';

/** One line that is written over as the work goes on; nothing where no person watches. */
export interface Progress {
  show(text: string): void;
  /** Takes the line away again. */
  end(): void;
}

/** Progress on standard error, so that a piped answer stays clean. */
export function progressOn(io: Io, { isJson }: Output): Progress {
  if (!io.canAsk || isJson) return { show: () => undefined, end: () => undefined };
  return {
    show: (text) => io.err(`\r\u001B[K${text}`),
    end: () => io.err('\r\u001B[K'),
  };
}
