import type { MemoryStore, VirtualTime } from '../../src/testing/index.ts';
import type { Temper } from './chaos.ts';
import type { LedgerOfSends } from './ledger-of-sends.ts';
import type { SeededRandom } from './seeded-random.ts';

/** What everybody in a schedule works with. */
export interface Stage {
  readonly random: SeededRandom;
  readonly temper: Temper;
  readonly time: VirtualTime;
  readonly store: MemoryStore;
  readonly sends: LedgerOfSends;
  readonly problems: string[];
  readonly trace: (line: string) => void;
  /** Does something after so many milliseconds. */
  readonly at: (ms: number, work: () => void) => void;
}

/** A moment in which anything may go wrong. */
export function sometime({ random, temper }: Stage): number {
  return random.int(0, temper.chaosMs - 1);
}

/** The versions of workers and messages that are about. */
export const GENERATIONS = [1, 2] as const;
