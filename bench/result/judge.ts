import { median } from './quantile.ts';
import { type Contestant, isHigherBetter, type Verdict } from './result.ts';

/** How many times as good ours is: more than 1 is in our favour, for rates and for costs. */
function ratioOf(ours: Contestant, other: Contestant): number {
  return isHigherBetter(ours.unit) ? ours.value / other.value : other.value / ours.value;
}

/** Ours against the best of the others, with the least ratio that is aimed at. */
export function judge(ours: Contestant, others: readonly Contestant[], goal?: number): Verdict {
  const [best] = others.toSorted((a, b) => ratioOf(ours, a) - ratioOf(ours, b));
  if (best === undefined) throw new Error(`nobody to compare ${ours.name} with`);
  return verdictOf(best, ratioOf(ours, best), goal, ours.at);
}

/** The same round by round, and the middle one of those: what else the machine did then slowed down both. */
export function judgeByRound(
  ours: readonly number[],
  other: Contestant,
  theirs: readonly number[],
  goal?: number,
): Verdict {
  const ratios = ours.map((rate, round) => rate / (theirs[round] ?? Number.NaN));
  const verdict = verdictOf(other, median(ratios), goal, other.at);
  return ratios.length < 2 ? verdict : { ...verdict, ratioSpread: [Math.min(...ratios), Math.max(...ratios)] };
}

/** A goal for the value itself. */
export function judgeValue(value: number, sign: '<' | '≤', most: number, unit: string, what = ''): Verdict {
  const isReached = sign === '<' ? value < most : value <= most;
  return { goal: `${what === '' ? '' : `${what} `}${sign} ${most} ${unit}`, isReached };
}

function verdictOf({ name, role }: Contestant, ratio: number, goal?: number, at?: number | string): Verdict {
  const place = at === undefined ? {} : { at };
  const compared = { against: name, role, ratio, ...place };
  return goal === undefined ? compared : { ...compared, goal: `≥ ${goal}`, isReached: ratio >= goal };
}
