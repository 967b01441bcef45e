import fc from 'fast-check';
import { expect, test } from 'vitest';
import { leavingOf, shareOf, type UnitRuns } from './share.ts';

const lane = (number: number, unitCount: number): Parameters<typeof shareOf>[0] => ({
  lane: number,
  handler: 'h',
  handlerId: 1,
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

const unit = (number: number, heat: number, runningCount = 0): UnitRuns & { readonly heat: number } => ({
  token: { unit: number },
  heat,
  runningCount,
});

const heatOf = ({ heat }: { readonly heat: number }): number => heat;

test('as many leave as are too many, and of the hot ones their part to within one', () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat(100), { minLength: 1, maxLength: 64 }),
      fc.nat(1000),
      fc.nat(64),
      (heats, part, hotCount) => {
        const units = heats.map((heat, index) => unit(index, heat));
        const surplus = 1 + (part % units.length);
        const leaving = leavingOf(units, surplus, heatOf);
        expect(new Set(leaving).size).toBe(surplus);
        const hottest = [...units].sort((a, b) => b.heat - a.heat || a.token.unit - b.token.unit).slice(0, hotCount);
        const left = hottest.filter((one) => leaving.includes(one)).length;
        expect(Math.abs(left - (hottest.length * surplus) / units.length)).toBeLessThan(2);
      },
    ),
  );
});

test('of two that are as hot the one in which less runs leaves, whether few leave or most', () => {
  const units = [unit(1, 0, 3), unit(2, 0), unit(3, 9), unit(4, 9, 1)];
  const leaving = (surplus: number): number[] => leavingOf(units, surplus, heatOf).map(({ token }) => token.unit);
  expect(leaving(2)).toEqual([3, 2]);
  expect(leaving(1)).toEqual([3]);
  expect(leaving(3)).toEqual([2, 3, 4]);
});
