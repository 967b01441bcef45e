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
