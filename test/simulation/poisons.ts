import type { RelayEvent } from '../../src/relay/relay-event.ts';
import type { Effect } from './handlers.ts';
import type { SeededRandom } from './seeded-random.ts';

/** Messages whose effects lose their connection each time, until they are dead letters: whoever replays them has fixed them first. */
export class Poisons {
  readonly #random: SeededRandom;
  readonly #share: number;
  readonly #isPoison = new Map<string, boolean>();
  /** How many became dead letters of it. */
  dead = 0;

  /** With a chance of its own: the rest of a schedule stays as it is. */
  constructor(random: SeededRandom) {
    this.#random = random;
    this.#share = random.pick([0, 0, 0.05, 0.2]);
  }

  /** The effect of a run is made: does it lose its connection? */
  has({ handler, id }: Pick<Effect, 'handler' | 'id'>): boolean {
    const name = `${handler}/${id}`;
    const known = this.#isPoison.get(name);
    if (known !== undefined) return known;
    const isPoison = this.#random.chance(this.#share);
    this.#isPoison.set(name, isPoison);
    return isPoison;
  }

  readonly observe = (event: RelayEvent): void => {
    if (event.kind !== 'run-failed' || event.next.kind !== 'dead' || event.error.code !== 'DATABASE_FAULT') return;
    const name = `${event.handler}/${event.delivery.id}`;
    if (this.#isPoison.get(name)) this.dead += 1;
    this.#isPoison.set(name, false);
  };
}
