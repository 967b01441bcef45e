import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';

/** Where a worker writes its journal: a pipe, read by the drill. What is written there is known even if the writer is killed next. */
export const JOURNAL_FD = 4;

/** `start` and the three ends are about one run of one handler; `threw` is a failure on purpose. */
export type JournalWord = 'start' | 'done' | 'ended' | 'refused' | 'threw';

/** What a worker did, as it tells it. */
export class Journal {
  readonly counts: Record<JournalWord, number> = { start: 0, done: 0, ended: 0, refused: 0, threw: 0 };
  /** Runs that have started and not ended. */
  readonly inFlight: Set<string> = new Set();

  constructor(pipe: Readable) {
    createInterface({ input: pipe }).on('line', (line) => this.#take(line));
  }

  #take(line: string): void {
    const space = line.indexOf(' ');
    const word = line.slice(0, space) as JournalWord;
    const about = line.slice(space + 1);
    this.counts[word] += 1;
    if (word === 'start') this.inFlight.add(about);
    else if (word !== 'threw') this.inFlight.delete(about);
  }
}
