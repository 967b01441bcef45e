/** One call that is measured, as often as it says. */
export interface NamedCall {
  readonly name: string;
  readonly rounds: number;
  /** Before each, and not measured. */
  readonly prepare?: () => Promise<unknown>;
  readonly run: () => Promise<unknown>;
}

const GOAL_MS = 300;

/** Calls in turn, round by round, so that a noisy moment meets all of them. Prints a table; answers how many missed the goal. */
export async function measureCalls(title: string, calls: readonly NamedCall[]): Promise<number> {
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
  console.log(`\n${title}`);
  const width = Math.max(...calls.map(({ name }) => name.length));
  let missed = 0;
  for (const [{ name }, samples] of times) {
    const sorted = samples.toSorted((a, b) => a - b);
    const at = (part: number): number => sorted[Math.ceil(sorted.length * part) - 1] ?? Number.NaN;
    const isMissed = at(0.95) >= GOAL_MS;
    if (isMissed) missed += 1;
    const cells = [at(0.5), at(0.95), at(1)].map((ms) => ms.toFixed(0).padStart(6));
    console.log(
      `${name.padEnd(width)}  p50 ${cells[0]} ms  p95 ${cells[1]} ms  most ${cells[2]} ms  of ${String(samples.length).padStart(3)}  ${isMissed ? 'MISSED' : 'ok'}`,
    );
  }
  console.log(`goal: p95 under ${GOAL_MS} ms for every call: ${missed === 0 ? 'reached' : `${missed} MISSED`}`);
  return missed;
}
