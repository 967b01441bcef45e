import type { Lane, Survey } from './relay-store.ts';

/**
 * How many units of a lane this worker should own: an even share of the live workers that serve the lane, and one more for
 * the first ones by id until the rest is given out. Where that begins moves with the lane, so that the remainders of many
 * lanes do not all meet the same worker.
 */
export function shareOf(lane: Lane, workers: Survey['workers'], me: string): number {
  const serving = workers
    .filter(({ lanes }) => lanes.includes(lane.lane))
    .map(({ id }) => id)
    .sort();
  const rank = serving.indexOf(me);
  if (rank === -1) return 0;
  const rest = lane.unitCount % serving.length;
  const turned = (rank + lane.lane) % serving.length;
  return Math.floor(lane.unitCount / serving.length) + (turned < rest ? 1 : 0);
}

/** What is known of a unit when it is decided who leaves. */
export interface UnitRuns {
  readonly runningCount: number;
  readonly token: { readonly unit: number };
}

/**
 * Which `surplus` of these units are left to others: as much of what is hot as of what is cold, or whoever joins would get the
 * units that rest, and few keys with all the work would stay where they are for ever. Of neighbours in heat the one with
 * fewer runs leaves: it stands still until they have ended.
 */
export function leavingOf<U extends UnitRuns>(
  units: readonly U[],
  surplus: number,
  heatOf: (unit: U) => number,
): readonly U[] {
  const byHeat = [...units].sort((a, b) => heatOf(b) - heatOf(a) || a.token.unit - b.token.unit);
  const byRuns = (group: readonly U[]): U[] => [...group].sort((a, b) => a.runningCount - b.runningCount);
  if (surplus * 2 <= units.length) return groups(byHeat, surplus).flatMap((group) => byRuns(group).slice(0, 1));
  const staying = groups(byHeat, units.length - surplus).map((group) => byRuns(group).at(-1));
  return units.filter((unit) => !staying.includes(unit));
}

/** So many runs of neighbours, as long as each other or one longer. */
function groups<T>(list: readonly T[], count: number): readonly (readonly T[])[] {
  const cut = (index: number): number => Math.floor((index * list.length) / count);
  return Array.from({ length: count }, (_, index) => list.slice(cut(index), cut(index + 1)));
}
