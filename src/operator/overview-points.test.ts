import { expect, test } from 'vitest';
import { overviewPoints, rangeStartMs, type Sample } from './overview-points.ts';

const NOON = Date.UTC(2026, 0, 5, 12, 0, 30);
const MINUTE = 60_000;

function sample(atMs: number, sent: number): Sample {
  return { atMs, sent, pending: 4, oldestMs: 250 };
}

test('a range has all its steps, without gaps, the oldest first, the present one last [X.18]', () => {
  for (const [range, count, stepMs] of [
    ['hour', 60, MINUTE],
    ['day', 288, 5 * MINUTE],
    ['week', 168, 60 * MINUTE],
  ] as const) {
    const points = overviewPoints(range, { ms: NOON, sent: 0 }, [], []);
    expect(points).toHaveLength(count);
    expect(points[0]?.at.getTime()).toBe(rangeStartMs(range, NOON));
    expect(points.at(-1)?.at.getTime()).toBe(Math.floor(NOON / stepMs) * stepMs);
    expect(points.every(({ sent, done, pending }) => sent === 0 && done === 0 && pending === undefined)).toBe(true);
  }
});

test('what was sent between two looks is spread over the time between them, and adds up [X.18]', () => {
  const start = rangeStartMs('hour', NOON);
  const samples = [
    sample(start - MINUTE, 1_000),
    sample(start + 3 * MINUTE, 1_400),
    sample(start + 50 * MINUTE, 1_403),
  ];
  const points = overviewPoints('hour', { ms: NOON, sent: 1_410 }, [], samples);
  expect(points.slice(0, 3).map(({ sent }) => sent)).toEqual([100, 100, 100]);
  expect(points.reduce((sum, { sent }) => sum + sent, 0)).toBe(310);
  expect(points[3]).toMatchObject({ pending: 4, oldestMs: 250 });
  expect(points[4]).toMatchObject({ pending: undefined, oldestMs: undefined });
});

test('before the first look nothing is said to be sent [X.18]', () => {
  const points = overviewPoints('hour', { ms: NOON, sent: 5_000_010 }, [], [sample(NOON - 10_000, 5_000_000)]);
  expect(points.reduce((sum, { sent }) => sum + sent, 0)).toBe(10);
});

test('what was done stands in its step [X.18]', () => {
  const atMs = rangeStartMs('hour', NOON) + 7 * MINUTE;
  const tally = { atMs, done: 9, retried: 2, dead: 1, suppressed: 3, refused: 2 };
  const { atMs: _, ...counts } = tally;
  expect(overviewPoints('hour', { ms: NOON, sent: 0 }, [tally], [])[7]).toMatchObject(counts);
});
