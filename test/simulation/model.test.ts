import { describe, expect, test } from 'vitest';
import { amount } from '../support/amount.ts';
import { findBroken, replayCommand } from './many-seeds.ts';
import { simulate } from './simulate.ts';

const FILE = 'test/simulation/model.test.ts';
const SEEDS: number = amount(700, 10_000);
const GIVEN = process.env['HOLDFAST_SEED'];

describe('the engine on the memory store', () => {
  test(`thousands of schedules with kills, pauses, lost replies, time-outs, generations and operators lose nothing, do nothing twice and keep the order [X.12]`, async () => {
    if (GIVEN !== undefined) {
      const { problems } = await simulate(Number(GIVEN), { trace: (line) => console.log(line) });
      return expect(problems).toEqual([]);
    }
    const { broken, totals } = await findBroken({ from: 1, count: SEEDS, enough: 5 });
    const report = broken.map(({ seed, problems }) => [replayCommand(FILE, seed), ...problems].join('\n  '));
    expect(report).toEqual([]);
    // A run in which nothing was ever taken over or refused would prove nothing.
    for (const [what, count] of Object.entries(totals)) expect(count, what).toBeGreaterThan(SEEDS / 20);
  }, 600_000);

  test('the same seed gives the same schedule [X.12]', async () => {
    const traces: string[][] = [];
    for (const lines of [[], []] as string[][]) {
      await simulate(7, { trace: (line) => lines.push(line) });
      traces.push(lines);
    }
    expect(traces[0]?.length).toBeGreaterThan(50);
    expect(traces[1]).toEqual(traces[0]);
  });
});
