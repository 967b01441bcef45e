import type { Io } from './io.ts';
import type { Output } from './output.ts';

/** One line that is written over as the work goes on; nothing where no person watches. */
export interface Progress {
  show(text: string): void;
  /** Shows how much of all is done, as a bar. */
  bar(done: number, total: number, text: string): void;
  /** Takes the line away again. */
  end(): void;
}

const BAR = 24;

function nothing(): void {}

/** Progress on standard error, so that a piped answer stays clean. */
export function progressOn(io: Io, { isJson, paint }: Output): Progress {
  if (!io.canAsk || isJson) return { show: nothing, bar: nothing, end: nothing };
  const show = (text: string): void => io.err(`\r\u001B[K${text}`);
  return {
    show,
    bar: (done, total, text) => {
      const share = total === 0 ? 1 : done / total;
      const full = Math.round(share * BAR);
      const percent = String(Math.floor(share * 100)).padStart(3);
      show(`${paint.green('█'.repeat(full))}${paint.dim('░'.repeat(BAR - full))} ${percent} %  ${text}`);
    },
    end: () => io.err('\r\u001B[K'),
  };
}
