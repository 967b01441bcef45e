/**
 * What a fault between a run and its database is laid to. `run`: the database answered before and after it, and was not restarted ·
 * `database`: it was restarted, failed over or out of reach, for everyone · `capacity`: it had no connection, disk or memory to give.
 */
export type FaultBlame = 'run' | 'database' | 'capacity';

/** The faults of a delivery since its last attempt that failed by itself. */
export interface Faults {
  readonly count: number;
  /** Each counts for as much as it speaks against the message. */
  readonly weight: number;
}

// Lost connections happen: two of one message in a row are no failure of it, the third and each after it is. A message may also crash
// the server itself, so that the database is away for everyone: twenty in a row are more than a failover gives. Without a connection its
// effect was not even called: those make hours, whatever the waits between them.
const WEIGHTS: Readonly<Record<FaultBlame, number>> = { run: 400, database: 50, capacity: 2 };
const ATTEMPT_WEIGHT = 1_000;

// A single restart of the database must not make thousands of messages that shared their commits run one by one.
const ALONE = 2 * WEIGHTS.database;

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 60_000;

/** The faults of a delivery with one more. */
export function withFault(before: Faults | undefined, blame: FaultBlame): Faults {
  return { count: (before?.count ?? 0) + 1, weight: Math.min((before?.weight ?? 0) + WEIGHTS[blame], ATTEMPT_WEIGHT) };
}

/** Its last fault is a failed attempt. */
export function isAttempt({ weight }: Faults): boolean {
  return weight >= ATTEMPT_WEIGHT;
}

/** It shares no commit with others: they would fail with it. */
export function runsAlone(faults: Faults | undefined): boolean {
  return faults !== undefined && faults.weight >= ALONE;
}

/** How long to wait after a fault that is no failed attempt. `random`: one draw from [0, 1). */
export function faultWaitMs({ count }: Faults, random: number): number {
  const waitMs = Math.min(FIRST_WAIT_MS * 2 ** Math.min(count - 1, 20), LONGEST_WAIT_MS);
  return Math.round(waitMs * (0.75 + random / 2));
}
