import type { OverviewPoint, OverviewRange } from './overview.ts';

/** How long a step of each range is, and how many there are. */
export const OVERVIEW_STEPS: Readonly<Record<OverviewRange, { readonly stepMs: number; readonly count: number }>> = {
  hour: { stepMs: 60_000, count: 60 },
  day: { stepMs: 300_000, count: 288 },
  week: { stepMs: 3_600_000, count: 168 },
};

/** What was done in a step, summed over handlers and processes. */
export interface StepTally extends Pick<OverviewPoint, 'done' | 'retried' | 'dead' | 'suppressed' | 'refused'> {
  /** When the step began. */
  readonly atMs: number;
}

/** What somebody saw at a moment. */
export interface Sample {
  readonly atMs: number;
  /** Put in line since the beginning of time. */
  readonly sent: number;
  readonly pending: number;
  readonly oldestMs: number | undefined;
}

/** When the first step of a range begins that ends with the present one. */
export function rangeStartMs(range: OverviewRange, nowMs: number): number {
  const { stepMs, count } = OVERVIEW_STEPS[range];
  return (Math.floor(nowMs / stepMs) - count + 1) * stepMs;
}

/**
 * The steps of a range, without gaps. Samples are in the order of time, one from before the range among them if there is one. What
 * was sent between two samples is spread evenly over the time between them: nothing is counted twice, and nothing is left out.
 */
export function overviewPoints(
  range: OverviewRange,
  now: { readonly ms: number; readonly sent: number },
  tallies: readonly StepTally[],
  samples: readonly Sample[],
): readonly OverviewPoint[] {
  const { stepMs, count } = OVERVIEW_STEPS[range];
  const startMs = rangeStartMs(range, now.ms);
  const tallyAt = new Map(tallies.map((tally) => [tally.atMs, tally]));
  const lastIn = new Map(samples.map((sample) => [Math.floor(sample.atMs / stepMs), sample]));
  const marks = [...samples.filter(({ atMs }) => atMs < now.ms), { atMs: now.ms, sent: now.sent }];
  return Array.from({ length: count }, (_, place) => {
    const atMs = startMs + place * stepMs;
    const tally = tallyAt.get(atMs);
    const seen = lastIn.get(atMs / stepMs);
    return {
      at: new Date(atMs),
      sent: Math.max(0, sentBy(marks, atMs + stepMs) - sentBy(marks, atMs)),
      done: tally?.done ?? 0,
      retried: tally?.retried ?? 0,
      dead: tally?.dead ?? 0,
      suppressed: tally?.suppressed ?? 0,
      refused: tally?.refused ?? 0,
      pending: seen?.pending,
      oldestMs: seen?.oldestMs,
    };
  });
}

/** How much had been sent by a moment, a whole number. Before the first look nothing is known, and nothing is said to be sent. */
function sentBy(marks: readonly Pick<Sample, 'atMs' | 'sent'>[], ms: number): number {
  const next = marks.findIndex(({ atMs }) => atMs >= ms);
  if (next < 0) return marks.at(-1)?.sent ?? 0;
  const after = marks[next];
  const before = marks[next - 1];
  if (after === undefined || before === undefined) return after?.sent ?? 0;
  const part = (ms - before.atMs) / (after.atMs - before.atMs);
  return Math.round(before.sent + (after.sent - before.sent) * part);
}
