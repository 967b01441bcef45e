import type { LaneState } from './lane-state.ts';
import type { Delivery } from './relay-store.ts';

/**
 * Which message is tried while a breaker is open. Handlers that share it have their turn one after the other, and so have what is new and
 * what has failed before: messages that fail by themselves come back again and again, and would keep those that do not from ever being the
 * one that closes it.
 */
export class ProbeTurns {
  #turn = 0;

  /** Offers messages until one was begun. False: there is none that could be. */
  begin<Tx>(lanes: readonly LaneState<Tx>[], begin: (lane: LaneState<Tx>, delivery: Delivery) => boolean): boolean {
    const turn = this.#turn++;
    const isFreshTurn = Math.floor(turn / Math.max(1, lanes.length)) % 2 === 0;
    const first = turn % Math.max(1, lanes.length);
    for (const lane of [...lanes.slice(first), ...lanes.slice(0, first)]) {
      for (let next = lane.nextProbe(isFreshTurn); next; next = lane.nextProbe(isFreshTurn)) {
        if (begin(lane, next)) return true;
      }
    }
    return false;
  }
}
