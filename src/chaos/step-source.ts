import { seededRandom } from './seeded-random.ts';
import { kindAt, type Step, type StepMix } from './step.ts';

/** The next messages of a run. Each connection has keys of its own, so that the order of a key is the order of its commits. */
export class StepSource {
  readonly #keys: readonly string[];
  readonly #next: Map<string, number>;
  readonly #mix: StepMix;
  readonly #random: () => number;
  #at = 0;

  /** `reached` is how far keys are committed already. */
  constructor(about: {
    readonly keys: number;
    readonly mix: StepMix;
    readonly seed: number;
    readonly reached: ReadonlyMap<string, number>;
  }) {
    this.#keys = Array.from({ length: about.keys }, (_, at) => `k${at}`);
    this.#next = new Map(about.reached);
    this.#mix = about.mix;
    this.#random = seededRandom(about.seed);
  }

  /** So many for the connection `own` of `all`. Few keys have much, most have little. */
  take(count: number, own: number, all: number): readonly Step[] {
    const mine = this.#keys.filter((_, at) => at % all === own);
    return Array.from({ length: count }, () => {
      const key = mine[Math.floor(mine.length * this.#random() ** 2)] ?? 'k0';
      const n = (this.#next.get(key) ?? 0) + 1;
      this.#next.set(key, n);
      return { key, n, kind: kindAt(this.#at++, this.#mix) };
    });
  }
}
