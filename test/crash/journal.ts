import { closeSync, openSync, readSync, writeSync } from 'node:fs';

/**
 * What a process did, line by line, in a file: what was written stays when the process is killed in its next instruction.
 * `start` and the four ends are about one run of one handler; `mark` is anything else.
 */
export type JournalWord = 'start' | 'done' | 'failed' | 'refused' | 'mark';

/** The pen, in the process that is watched. */
export function openJournal(file: string): (word: JournalWord, about: string) => void {
  const descriptor = openSync(file, 'a');
  return (word, about) => void writeSync(descriptor, `${word} ${about}\n`);
}

/** The reader, in the test. */
export class Journal {
  readonly file: string;
  readonly counts: Record<JournalWord, number> = { start: 0, done: 0, failed: 0, refused: 0, mark: 0 };
  readonly marks: string[] = [];
  /** Runs whose result came too late. */
  readonly refusals: string[] = [];
  /** Runs that have started and not ended. */
  readonly inFlight: Set<string> = new Set();
  #read = 0;
  #rest = '';

  constructor(file: string) {
    this.file = file;
    closeSync(openSync(file, 'a'));
  }

  /** Reads what was written since the last time. */
  look(): this {
    const descriptor = openSync(this.file, 'r');
    const buffer = Buffer.alloc(65_536);
    for (let size = -1; size !== 0;) {
      size = readSync(descriptor, buffer, 0, buffer.length, this.#read);
      this.#read += size;
      this.#rest += buffer.toString('utf8', 0, size);
    }
    closeSync(descriptor);
    const lines = this.#rest.split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.#take(line);
    return this;
  }

  #take(line: string): void {
    const space = line.indexOf(' ');
    const word = line.slice(0, space) as JournalWord;
    const about = line.slice(space + 1);
    this.counts[word] += 1;
    if (word === 'refused') this.refusals.push(about);
    if (word === 'mark') this.marks.push(about);
    else if (word === 'start') this.inFlight.add(about);
    else this.inFlight.delete(about);
  }
}
