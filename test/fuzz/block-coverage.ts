import { Session } from 'node:inspector/promises';

/** Which parts of the code under test ran, and how often. */
export interface Taken {
  /** By file, 1 for each character of it that ran: V8 tells only of blocks that ran another number of times than what is around them. */
  readonly covered: ReadonlyMap<string, Uint8Array>;
  /** How often blocks ran, in sum: a count of steps, which no load of the machine changes. It does not see into regular expressions. */
  readonly steps: number;
}

interface CountedFunction {
  readonly ranges: readonly { readonly startOffset: number; readonly endOffset: number; readonly count: number }[];
}

/** V8's own counts of blocks, of files whose address fits; those of the product unless told otherwise. */
export class BlockCoverage {
  readonly #session = new Session();
  readonly #files: RegExp;

  constructor(files = /\/src\/[^/]+\/.*\.ts$/) {
    this.#files = files;
  }

  async start(): Promise<void> {
    this.#session.connect();
    await this.#session.post('Profiler.enable');
    await this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  }

  /** What ran since it was asked last. */
  async take(): Promise<Taken> {
    const { result } = await this.#session.post('Profiler.takePreciseCoverage');
    const covered = new Map<string, Uint8Array>();
    let steps = 0;
    for (const { url, functions } of result) {
      if (!this.#files.test(url)) continue;
      const blocks = functions.flatMap(({ ranges }: CountedFunction) => ranges);
      const characters = new Uint8Array(blocks.reduce((end, { endOffset }) => Math.max(end, endOffset), 0));
      // The outer ones come first.
      for (const { startOffset, endOffset, count } of blocks) {
        steps += count;
        characters.fill(Math.min(count, 1), startOffset, endOffset);
      }
      covered.set(url, characters);
    }
    return { covered, steps };
  }

  async stop(): Promise<void> {
    await this.#session.post('Profiler.stopPreciseCoverage');
    this.#session.disconnect();
  }
}
