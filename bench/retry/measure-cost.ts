import { contestantOf } from '../result/contestant.ts';
import type { Contestant, Role } from '../result/result.ts';

/** One thing to measure: `run` does the work `calls` times. */
export interface Runner {
  readonly name: string;
  readonly role: Role;
  run(calls: number): Promise<void>;
}

/**
 * Nanoseconds of a call of all runners in one process, round by round and in turning order, so that a noisy machine or a warm cache
 * favours nobody. CPU time rather than wall time where calls wait for timers.
 */
export async function measureCost(
  runners: readonly Runner[],
  options: { calls: number; rounds: number; clock: 'wall' | 'cpu' },
): Promise<Contestant[]> {
  const samples = runners.map((): number[] => []);
  for (const runner of runners) await runner.run(options.calls); // warm-up
  for (let round = 0; round < options.rounds; round++) {
    for (let i = 0; i < runners.length; i++) {
      const index = (i + round) % runners.length;
      const startedNs = nowNs(options.clock);
      await runners[index]?.run(options.calls);
      samples[index]?.push((nowNs(options.clock) - startedNs) / options.calls);
    }
  }
  return runners.map(({ name, role }, i) => contestantOf({ name, role, unit: 'ns', rounds: samples[i] ?? [] }));
}

function nowNs(clock: 'wall' | 'cpu'): number {
  if (clock === 'wall') return Number(process.hrtime.bigint());
  const { user, system } = process.cpuUsage();
  return (user + system) * 1_000;
}
