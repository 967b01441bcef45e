/** What a number counts. Of rates the greater is the better one, of all others the smaller. */
export type Unit = '/s' | 'ms' | 'ns' | 'MB' | 'KiB';

/**
 * Who a contestant is: us; another package; the same work without any of both (statements by hand, a bare client, no guard); or us
 * once more in the usual state, which is what a disturbed one is compared with.
 */
export type Role = 'ours' | 'peer' | 'bare' | 'usual';

/** One of those that are compared in a measure. */
export interface Contestant {
  readonly name: string;
  readonly role: Role;
  readonly unit: Unit;
  /** The middle one of the rounds. */
  readonly value: number;
  /** The least and the greatest of the rounds. Absent where there was one. */
  readonly spread?: readonly [least: number, most: number];
  /** Where in a series it stands: a size, or what is done. */
  readonly at?: number | string;
}

/** What the numbers say: ours against another one's, and a goal, where there is one. */
export interface Verdict {
  /** Who ours is compared with: the best of those it could be. */
  readonly against?: string;
  readonly role?: Role;
  /** How many times as good as that one. More than 1 is in our favour, for costs too. */
  readonly ratio?: number;
  /** The least and the greatest of the rounds, each against the same round of the other. */
  readonly ratioSpread?: readonly [least: number, most: number];
  /** Where in a series. */
  readonly at?: number | string;
  readonly goal?: string;
  /** Absent where there is no goal. */
  readonly isReached?: boolean;
}

/** What one measure found. Printed, written as JSON and drawn from this alone. */
export interface Result {
  /** As it is asked for: `npm run bench -- <topic> <id>`. Several results of one measure share its name and differ after a dot. */
  readonly id: string;
  /** What was done, as a phrase. */
  readonly measure: string;
  /** What the places of a series are. Numbers make it a line, words make it groups. */
  readonly along?: string;
  /** Those of one group are shown as one list, the slowest first. */
  readonly group?: string;
  readonly contestants: readonly Contestant[];
  readonly verdicts: readonly Verdict[];
  /** What has to be known to read the numbers. */
  readonly note?: string;
}

export function isHigherBetter(unit: Unit): boolean {
  return unit === '/s';
}
