import { median } from './quantile.ts';
import type { Contestant, Role, Unit } from './result.ts';

/** Several rounds of one contestant. */
export interface Rounds {
  readonly name: string;
  readonly role: Role;
  readonly rounds: readonly number[];
  readonly unit?: Unit;
  readonly at?: number | string;
}

/** The middle one of the rounds, with the range of all. */
export function contestantOf({ name, role, rounds, unit = '/s', at }: Rounds): Contestant {
  const place = at === undefined ? {} : { at };
  const found = { name, role, unit, value: median(rounds), ...place };
  return rounds.length < 2 ? found : { ...found, spread: [Math.min(...rounds), Math.max(...rounds)] };
}
