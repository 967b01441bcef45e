import { expect, test } from 'vitest';
import { type FaultBlame, type Faults, faultWaitMs, isAttempt, runsAlone, withFault } from './faults.ts';

/** After how many faults in a row the next is a failed attempt, and after how many a message runs alone. */
function firsts(blame: FaultBlame): { attempt: number; alone: number } {
  let faults: Faults | undefined;
  let [attempt, alone] = [0, 0];
  for (let count = 1; attempt === 0; count += 1) {
    faults = withFault(faults, blame);
    expect(faults.count).toBe(count);
    if (alone === 0 && runsAlone(faults)) alone = count;
    if (isAttempt(faults)) attempt = count;
  }
  return { attempt, alone };
}

test('the third fault of a run alone is an attempt, the twentieth of the database, and of its capacity only hours of them [X.3]', () => {
  expect(firsts('run')).toEqual({ attempt: 3, alone: 1 });
  expect(firsts('database')).toEqual({ attempt: 20, alone: 2 });
  expect(firsts('capacity')).toEqual({ attempt: 500, alone: 50 });
});

test('faults of several kinds add up, and every one after the first that counts counts too [X.3]', () => {
  let faults = withFault(undefined, 'run');
  for (let n = 0; n < 11; n += 1) faults = withFault(faults, 'database');
  expect(isAttempt(faults)).toBe(false);
  faults = withFault(faults, 'database');
  expect(isAttempt(faults)).toBe(true);
  expect(isAttempt(withFault(faults, 'capacity'))).toBe(true);
});

test('the waits double from a quarter of a second to a minute, a quarter more or less [X.3]', () => {
  const waits = [1, 2, 3, 8, 9, 1_000].map((count) => faultWaitMs({ count, weight: 0 }, 0.5));
  expect(waits).toEqual([250, 500, 1_000, 32_000, 60_000, 60_000]);
  expect([0, 1].map((random) => faultWaitMs({ count: 3, weight: 0 }, random))).toEqual([750, 1_250]);
});
