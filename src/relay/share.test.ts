import fc from 'fast-check';
import { expect, test } from 'vitest';
import { shareOf } from './share.ts';

const lane = (number: number, unitCount: number): Parameters<typeof shareOf>[0] => ({
  lane: number,
  handler: 'h',
  firstUnit: number * unitCount,
  unitCount,
});

test('the shares of all workers that serve a lane add up to its units and differ by one at most', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 2, max: 64 }),
      fc.integer({ min: 1, max: 40 }),
      fc.nat(20),
      (units, count, number) => {
        const workers = Array.from({ length: count }, (_, i) => ({ id: `w${i}`, lanes: [number] }));
        const shares = workers.map(({ id }) => shareOf(lane(number, units), workers, id));
        expect(shares.reduce((a, b) => a + b)).toBe(units);
        expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(1);
      },
    ),
  );
});

test('a worker that does not serve a lane has no share in it, and takes none from the others', () => {
  const workers = [
    { id: 'a', lanes: [1] },
    { id: 'b', lanes: [2] },
  ];
  expect(shareOf(lane(1, 32), workers, 'a')).toBe(32);
  expect(shareOf(lane(1, 32), workers, 'b')).toBe(0);
});

test('the remainders of several lanes do not all meet the same worker', () => {
  const workers = ['a', 'b', 'c'].map((id) => ({ id, lanes: [1, 2, 3] }));
  const ofA = [1, 2, 3].map((number) => shareOf(lane(number, 32), workers, 'a'));
  expect(ofA.toSorted((a, b) => a - b)).toEqual([10, 11, 11]);
});
