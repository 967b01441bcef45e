import { contestantOf } from '../result/contestant.ts';
import { judgeValue } from '../result/judge.ts';
import { quantile } from '../result/quantile.ts';
import type { Result } from '../result/result.ts';

/** One call that is measured, as often as it says. */
export interface NamedCall {
  readonly name: string;
  readonly rounds: number;
  /** Before each, and not measured. */
  readonly prepare?: () => Promise<unknown>;
  readonly run: () => Promise<unknown>;
}

const GOAL_MS = 300;

/** Calls in turn, round by round, so that a noisy moment meets all of them: a result for each, in one group. */
export async function measureCalls(group: string, calls: readonly NamedCall[]): Promise<Result[]> {
  const times = new Map(calls.map((call) => [call, [] as number[]]));
  const most = Math.max(...calls.map(({ rounds }) => rounds));
  for (let round = 0; round < most; round++) {
    for (const [{ rounds, prepare, run }, samples] of times) {
      if (round >= rounds) continue;
      await prepare?.();
      const before = performance.now();
      await run();
      samples.push(performance.now() - before);
    }
  }
  return [...times].map(([{ name }, samples]): Result => {
    const at = (share: number) =>
      contestantOf({ name: `p${share * 100}`, role: 'ours', unit: 'ms', rounds: [quantile(samples, share)] });
    const [p50, p95] = [at(0.5), at(0.95)];
    return {
      id: `calls.${group.replaceAll(' ', '-')}.${name.replaceAll(' ', '-')}`,
      measure: name,
      group,
      contestants: [p50, p95],
      verdicts: [judgeValue(p95.value, '<', GOAL_MS, 'ms', 'p95')],
    };
  });
}
