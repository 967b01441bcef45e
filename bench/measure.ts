/** One thing to measure: `run` does the work `calls` times. */
export interface Contestant {
  readonly name: string;
  run(calls: number): Promise<void>;
}

export interface Result {
  readonly name: string;
  /** Median over the rounds. */
  readonly nsPerCall: number;
}

/**
 * Measures all contestants in one process, round by round and in turning order, so that a noisy machine or a warm cache
 * favours nobody, and gives the median of the rounds. CPU time rather than wall time where calls wait for timers.
 */
export async function measure(
  contestants: readonly Contestant[],
  options: { calls: number; rounds: number; clock: 'wall' | 'cpu' },
): Promise<Result[]> {
  const samples = contestants.map((): number[] => []);
  for (const contestant of contestants) await contestant.run(options.calls); // warm-up
  for (let round = 0; round < options.rounds; round++) {
    for (let i = 0; i < contestants.length; i++) {
      const index = (i + round) % contestants.length;
      const startedNs = nowNs(options.clock);
      await contestants[index]?.run(options.calls);
      samples[index]?.push((nowNs(options.clock) - startedNs) / options.calls);
    }
  }
  return contestants.map(({ name }, i) => ({ name, nsPerCall: median(samples[i] ?? []) }));
}

function nowNs(clock: 'wall' | 'cpu'): number {
  if (clock === 'wall') return Number(process.hrtime.bigint());
  const { user, system } = process.cpuUsage();
  return (user + system) * 1_000;
}

function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** A table of results with each one's ratio to the first: 2.0 means twice as dear. */
export function printTable(title: string, results: readonly Result[]): void {
  const ours = results[0]?.nsPerCall ?? Number.NaN;
  const rows = results.map(
    ({ name, nsPerCall }) => [name, nsPerCall.toFixed(0), (nsPerCall / ours).toFixed(2)] as const,
  );
  const widthOf = (column: 0 | 1 | 2): number => Math.max(...rows.map((row) => row[column].length));
  const [names, costs, ratios] = [widthOf(0), widthOf(1), widthOf(2)];
  console.log(`\n${title}`);
  for (const [name, ns, ratio] of rows) {
    console.log(`  ${name.padEnd(names)}  ${ns.padStart(costs)} ns per call  × ${ratio.padStart(ratios)}`);
  }
}
