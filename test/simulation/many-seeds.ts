import { simulate, type SimulationOptions } from './simulate.ts';
import type { SimulationResult } from './simulation-result.ts';

/** What many schedules came to. */
export interface ManySeeds {
  readonly broken: readonly SimulationResult[];
  readonly ran: number;
  /** What happened in all of them together. */
  readonly totals: Readonly<Record<Counted, number>>;
}

type Counted = 'refused' | 'takenOver' | 'timedOut' | 'reruns' | 'unserved' | 'opened' | 'takenForDead' | 'poisoned';

/** Runs schedules one after the other until so many have broken something. */
export async function findBroken(
  range: { readonly from: number; readonly count: number; readonly enough: number },
  options: SimulationOptions = {},
): Promise<ManySeeds> {
  const broken: SimulationResult[] = [];
  const totals = {
    refused: 0,
    takenOver: 0,
    timedOut: 0,
    reruns: 0,
    unserved: 0,
    opened: 0,
    takenForDead: 0,
    poisoned: 0,
  };
  let ran = 0;
  const limit = Error.stackTraceLimit;
  // Handlers and connections fail by the hundred thousand here; nobody reads where.
  Error.stackTraceLimit = 0;
  try {
    for (let seed = range.from; seed < range.from + range.count && broken.length < range.enough; seed++) {
      const result = await simulate(seed, options);
      ran += 1;
      for (const name of Object.keys(totals) as Counted[]) totals[name] += result[name];
      if (result.problems.length > 0) broken.push(result);
    }
  } finally {
    Error.stackTraceLimit = limit;
  }
  return { broken, ran, totals };
}

/** The line that runs one schedule again and tells everything that happens in it. */
export function replayCommand(file: string, seed: number): string {
  return `HOLDFAST_SEED=${seed} npx vitest run ${file}`;
}
