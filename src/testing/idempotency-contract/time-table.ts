import { must } from '../contract/contract-kit.ts';
import type { RulesModel } from './rules-model.ts';

// A store may round to whole milliseconds, each time on its own.
const ROUNDING_MS = 1;

/**
 * When the store says that each step of a model was. Every time of a record is that of a step, or so much later: the first that tells
 * when a step was is believed, and all others must agree with it.
 */
export class TimeTable {
  readonly #model: RulesModel;
  readonly #isExact: boolean;
  readonly #told = new Map<number, number>();

  /** `isExact`: the store's clock moves only as the model's does. */
  constructor(model: RulesModel, isExact: boolean) {
    this.#model = model;
    this.#isExact = isExact;
  }

  /** Throws when a time that the store tells does not fit to that of the model. */
  check(name: string, found: number, expected: number): void {
    const tick = this.#model.tickOf(expected);
    const told = found - (expected - this.#model.timeOf(tick));
    const known = this.#told.get(tick) ?? told;
    must(near(told, known), `${name} is that of the step that wrote it (${found}, not ${found - told + known})`);
    this.#told.set(tick, known);
    for (const [other, when] of this.#told) {
      const late = other < tick ? when - told : told - when;
      if (late > ROUNDING_MS) must(false, `${name} is in the order of the steps`);
      const distance = this.#model.timeOf(tick) - this.#model.timeOf(other);
      const isTrue = !this.#isExact || near(told - when, distance);
      if (!isTrue) must(false, `${name} is as much later as time has passed`);
    }
  }
}

function near(a: number, b: number): boolean {
  return Math.abs(a - b) <= ROUNDING_MS;
}
