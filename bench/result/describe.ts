import { formatPlace, formatRatio, formatSpread, formatValue } from './format.ts';
import type { Contestant, Result, Verdict } from './result.ts';

/** A line of a table: one verdict of a result, with the numbers it is about. */
export interface Row {
  readonly measure: string;
  readonly ours: string;
  readonly others: string;
  readonly ratio: string;
  readonly goal: string;
  /** `reached`, `missed`, or nothing where there is no goal. */
  readonly outcome: string;
}

/** A row for each verdict. The measure stands in the first; what the others are about stands in theirs. */
export function rowsOf(result: Result): Row[] {
  return result.verdicts.map((verdict, n) => ({
    measure: n === 0 ? result.measure : '…',
    ours: listed(result, verdict, (one) => one.role === 'ours'),
    others: listed(result, verdict, (one) => isCompared(one, verdict, result.verdicts)),
    ratio: ratioText(verdict),
    goal: verdict.goal ?? '',
    outcome: outcomeOf(verdict),
  }));
}

/** `1.63 × pg-boss`, with the range of the rounds where it is known. */
export function ratioText({ ratio, ratioSpread, at, against }: Verdict): string {
  if (ratio === undefined) return '';
  const range = ratioSpread === undefined ? '' : ` (${formatSpread(ratioSpread, formatRatio)})`;
  const isToItself = against?.startsWith('holdfast at ') === true;
  const place = at === undefined || isToItself ? '' : typeof at === 'number' ? ` at ${formatPlace(at)}` : `, ${at}`;
  return `${formatRatio(ratio)} × ${against}${place}${range}`;
}

export function outcomeOf({ isReached }: Verdict): '' | 'reached' | 'missed' {
  return isReached === undefined ? '' : isReached ? 'reached' : 'missed';
}

function isCompared({ role, name }: Contestant, verdict: Verdict, verdicts: readonly Verdict[]): boolean {
  // Compared with several of a kind one by one, each is told where it is meant.
  const isOneByOne = verdicts.filter((other) => other.role === role && other.at === verdict.at).length > 1;
  return isOneByOne ? name === verdict.against : role === verdict.role;
}

function listed(result: Result, verdict: Verdict, isIn: (one: Contestant) => boolean): string {
  const isSeries = result.along !== undefined;
  const isGrowth = isSeries && verdict.role === 'usual';
  const chosen = result.contestants.filter((one) => isIn(one) && (!isSeries || isGrowth || one.at === verdict.at));
  const several = chosen.length > 1;
  return chosen
    .map(({ name, role, value, unit, at }) => {
      const number = formatValue(value, unit);
      if (isGrowth) return `${number} at ${formatPlace(at ?? '')}`;
      if (role === 'ours' && !several) return number;
      return `${role === 'ours' ? name.replace(/^holdfast,? ?/, '') || name : name} ${number}`;
    })
    .join(', ');
}

/** The results of each group, the slowest first; those without a group by themselves. */
export function grouped(
  results: readonly Result[],
): { readonly group: string | undefined; readonly results: Result[] }[] {
  const groups = new Map<string | undefined, Result[]>();
  for (const result of results) groups.set(result.group, [...(groups.get(result.group) ?? []), result]);
  return [...groups].map(([group, all]) => ({
    group,
    results: group === undefined ? all : all.toSorted((a, b) => slowestOf(b) - slowestOf(a)),
  }));
}

function slowestOf({ contestants }: Result): number {
  return Math.max(...contestants.map(({ value }) => value));
}
