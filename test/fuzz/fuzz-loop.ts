import { SeededRandom } from '../simulation/seeded-random.ts';
import type { Taken } from './block-coverage.ts';
import { mutate } from './mutate.ts';
import type { FuzzTarget } from './target.ts';

/** What a run found out. */
export interface FuzzReport {
  readonly runs: number;
  /** Characters of code that were reached. */
  readonly reached: number;
  /** Inputs that reached something no other did. */
  readonly found: readonly string[];
  /** The first input that something does not hold for. */
  readonly failure: { readonly input: string; readonly error: unknown } | undefined;
}

/** Who counts what ran. */
export interface Coverage {
  take(): Promise<Taken>;
}

export interface FuzzLimits {
  readonly seed: number;
  /** Asked before each batch. */
  readonly isOver: (runs: number) => boolean;
}

// Asking for the counts takes as long as hundreds of runs: so they are asked for together, and only a batch that reached something new
// is run again, in halves. The longer nothing new comes, the larger they are.
const SMALLEST = 100;
const LARGEST = 800;

/** Tries texts on a target: mutants of those that reached most so far. The same seed and corpus make the same texts. */
export async function fuzz(
  target: FuzzTarget,
  corpus: readonly string[],
  coverage: Coverage,
  { seed, isOver }: FuzzLimits,
): Promise<FuzzReport> {
  const run = new FuzzRun(target, corpus, coverage);
  const random = new SeededRandom(seed);
  let failure = await run.begin();
  for (let size = SMALLEST; failure === undefined && !isOver(run.runs);) {
    const before = run.found.length;
    failure = await run.tryAll(Array.from({ length: size }, () => mutate(target.words, run.pool, random)));
    size = run.found.length > before ? SMALLEST : Math.min(LARGEST, size * 2);
  }
  return { runs: run.runs, reached: run.reached, found: run.found, failure };
}

class FuzzRun {
  readonly #target: FuzzTarget;
  readonly #coverage: Coverage;
  readonly #reached = new Map<string, Uint8Array>();
  /** What mutants are made of. */
  readonly pool: string[];
  readonly found: string[] = [];
  runs = 0;

  constructor(target: FuzzTarget, corpus: readonly string[], coverage: Coverage) {
    this.#target = target;
    this.#coverage = coverage;
    this.pool = [...new Set([...target.seeds, ...corpus])];
  }

  get reached(): number {
    let sum = 0;
    for (const characters of this.#reached.values()) for (const one of characters) sum += one;
    return sum;
  }

  async begin(): Promise<FuzzReport['failure']> {
    await this.#coverage.take();
    const failure = await this.#failing(this.pool);
    this.#keep(await this.#coverage.take());
    return failure;
  }

  async tryAll(batch: readonly string[]): Promise<FuzzReport['failure']> {
    const failure = await this.#failing(batch);
    if (failure === undefined) await this.#sift(batch, await this.#coverage.take());
    return failure;
  }

  async #failing(texts: readonly string[]): Promise<FuzzReport['failure']> {
    for (const input of texts) {
      this.runs += 1;
      try {
        await this.#target.check(input);
      } catch (error) {
        return { input, error };
      }
    }
    return undefined;
  }

  /** Keeps those of a batch by which something new was reached. */
  async #sift(batch: readonly string[], taken: Taken): Promise<void> {
    const [only] = batch;
    if (only === undefined || !this.#isNew(taken)) return;
    if (batch.length === 1) {
      this.#keep(taken);
      this.pool.push(only);
      this.found.push(only);
      return;
    }
    const half = Math.ceil(batch.length / 2);
    for (const part of [batch.slice(0, half), batch.slice(half)]) {
      for (const input of part) await this.#target.check(input);
      await this.#sift(part, await this.#coverage.take());
    }
  }

  #isNew({ covered }: Taken): boolean {
    return [...covered].some(([file, characters]) => {
      const before = this.#reached.get(file);
      return characters.some((one, at) => one > (before?.[at] ?? 0));
    });
  }

  #keep({ covered }: Taken): void {
    for (const [file, characters] of covered) {
      const before = this.#reached.get(file) ?? new Uint8Array();
      const all = new Uint8Array(Math.max(before.length, characters.length));
      this.#reached.set(
        file,
        all.map((_, at) => Math.max(before[at] ?? 0, characters[at] ?? 0)),
      );
    }
  }
}
