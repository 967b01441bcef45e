import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isHoldfastError } from '../kernel/error.ts';
import { constant, exponential, expression, type Jitter, LONGEST_DELAY_MS, scheduleOf, steps } from './schedule.ts';

const longest = { random: 1, lastDelayMs: 0 };

describe('exponential', () => {
  test('doubles from the base up to the cap [S0.1]', () => {
    const schedule = exponential({ baseMs: 250, maxMs: 5_000, jitter: 'none' });
    const delays = [0, 1, 2, 3, 4, 5, 6].map((retried) => schedule.delayMs(retried, longest));
    expect(delays).toEqual([250, 500, 1_000, 2_000, 4_000, 5_000, 5_000]);
  });

  test('stays finite and at the cap for any index and factor [F.4]', () => {
    expect(exponential({ baseMs: 0, maxMs: 30_000, jitter: 'none' }).delayMs(5_000, longest)).toBe(0);
    for (const factor of [2, 10, 1000]) {
      const schedule = exponential({ baseMs: 1, maxMs: 30_000, factor, jitter: 'none' });
      for (const retried of [64, 1024, 1025, 10_000, 2 ** 53]) expect(schedule.delayMs(retried, longest)).toBe(30_000);
    }
  });

  test('full jitter reaches from nothing to the ceiling [F.7]', () => {
    const schedule = exponential({ baseMs: 1_000, maxMs: 8_000 });
    expect(schedule.delayMs(2, { random: 0, lastDelayMs: 0 })).toBe(0);
    expect(schedule.delayMs(2, { random: 0.999999, lastDelayMs: 0 })).toBe(4_000);
    expect(schedule.delayMs(2, { random: 0.5, lastDelayMs: 0 })).toBe(2_000);
  });

  test('equal jitter keeps the upper half [F.7]', () => {
    const schedule = exponential({ baseMs: 1_000, maxMs: 8_000, jitter: 'equal' });
    expect(schedule.delayMs(3, { random: 0, lastDelayMs: 0 })).toBe(4_000);
    expect(schedule.delayMs(3, { random: 0.999999, lastDelayMs: 0 })).toBe(8_000);
  });

  test('decorrelated jitter lies between the base and three times the last delay [F.7]', () => {
    const schedule = exponential({ baseMs: 100, maxMs: 10_000, jitter: 'decorrelated' });
    expect(schedule.delayMs(0, { random: 0, lastDelayMs: 0 })).toBe(100);
    expect(schedule.delayMs(0, { random: 1, lastDelayMs: 0 })).toBe(300);
    expect(schedule.delayMs(5, { random: 1, lastDelayMs: 1_000 })).toBe(3_000);
    expect(schedule.delayMs(5, { random: 1, lastDelayMs: 9_000 })).toBe(10_000);
    // At the cap the draw still decides: half of it lands half-way, not on the cap with everybody else.
    expect(schedule.delayMs(5, { random: 0.5, lastDelayMs: 10_000 })).toBe(5_050);
  });

  test.each<Jitter>(['full', 'equal', 'decorrelated'])(
    '%s jitter still spreads at the cap and never exceeds it [F.7]',
    (jitter) => {
      const schedule = exponential({ baseMs: 100, maxMs: 10_000, jitter });
      let last = 0;
      const seen = new Set<number>();
      for (let i = 0; i < 200; i++) {
        last = schedule.delayMs(50 + i, { random: (i * 0.618) % 1, lastDelayMs: last }) ?? -1;
        expect(last).toBeLessThanOrEqual(10_000);
        seen.add(last);
      }
      expect(seen.size).toBeGreaterThan(100);
    },
  );

  test('every delay is a whole number from 0 to the cap, whatever the options [F.6]', () => {
    const cap = fc.integer({ min: 0, max: 10_000_000 });
    const jitters = fc.constantFrom<Jitter>('full', 'equal', 'decorrelated', 'none');
    fc.assert(
      fc.property(
        cap,
        cap,
        fc.double({ min: 1, max: 1000, noNaN: true }),
        jitters,
        fc.nat(100_000),
        fc.double({ min: 0, max: 1, noNaN: true }),
        cap,
        (a, b, factor, jitter, retried, random, lastDelayMs) => {
          const [baseMs, maxMs] = [Math.min(a, b), Math.max(a, b)];
          const delay = exponential({ baseMs, maxMs, factor, jitter }).delayMs(retried, { random, lastDelayMs });
          expect(Number.isInteger(delay)).toBe(true);
          expect(delay).toBeGreaterThanOrEqual(0);
          expect(delay).toBeLessThanOrEqual(maxMs);
        },
      ),
    );
  });
});

describe('steps', () => {
  test('gives the steps, then the tail for ever', () => {
    const schedule = steps([5, 10, 30], { tailMs: 60 });
    expect([0, 1, 2, 3, 99].map((retried) => schedule.delayMs(retried, longest))).toEqual([5, 10, 30, 60, 60]);
  });

  test('ends after the last step without a tail', () => {
    const schedule = steps([5, 10]);
    expect([0, 1, 2].map((retried) => schedule.delayMs(retried, longest))).toEqual([5, 10, undefined]);
  });
});

describe('constant', () => {
  test('is the same every time', () => {
    expect([0, 5, 500].map((retried) => constant(750).delayMs(retried, longest))).toEqual([750, 750, 750]);
  });
});

describe('expression', () => {
  test('counts retries from 0 [S3.1]', () => {
    const schedule = expression('10000 * pow(2, retried)');
    expect([0, 1, 2, 3, 4].map((retried) => schedule.delayMs(retried, longest))).toEqual([
      10_000, 20_000, 40_000, 80_000, 160_000,
    ]);
  });

  test('brings a result out of range back into it', () => {
    expect(expression('-5').delayMs(0, longest)).toBe(0);
    expect(expression('pow(10, 400)', { maxMs: 9_000 }).delayMs(0, longest)).toBe(9_000);
    expect(expression('sqrt(-1)', { maxMs: 9_000 }).delayMs(0, longest)).toBe(9_000);
    expect(expression('0.4').delayMs(0, longest)).toBe(1);
  });

  test('is refused when it is written, with the position', () => {
    expect(() => expression('10000 * pow(2, retries)')).toThrow(
      expect.objectContaining({ code: 'BAD_EXPRESSION', details: expect.objectContaining({ position: 15 }) }),
    );
  });
});

test('plain data of an unknown kind is refused', () => {
  expect(() => scheduleOf({ kind: 'linear' } as never)).toThrow(
    `kind is "linear"; write 'exponential', 'constant', 'steps' or 'expression'`,
  );
});

test('fractions are rounded up where they are written, so that no delay exceeds its cap', () => {
  for (const jitter of ['none', 'full', 'equal', 'decorrelated'] as const) {
    const schedule = exponential({ baseMs: 10.5, maxMs: 10.5, jitter });
    expect(schedule.delayMs(3, { random: 1, lastDelayMs: 10 })).toBe(11);
    expect(schedule.spec).toMatchObject({ maxMs: 11 });
  }
});

test('a schedule survives its plain data', () => {
  const schedules = [
    exponential({ baseMs: 1, maxMs: 9, factor: 3, jitter: 'equal' }),
    constant(4),
    steps([1, 2]),
    steps([1, 2], { tailMs: 3 }),
    expression('retried * 7', { maxMs: 30 }),
  ];
  for (const schedule of schedules) {
    const again = scheduleOf(JSON.parse(JSON.stringify(schedule.spec)));
    expect(again.spec).toEqual(schedule.spec);
    for (let retried = 0; retried < 6; retried++) {
      const draw = { random: 0.3, lastDelayMs: 2 };
      expect(again.delayMs(retried, draw)).toBe(schedule.delayMs(retried, draw));
    }
  }
});

test.each([
  ['a negative base', () => exponential({ baseMs: -1, maxMs: 5 }), ['baseMs']],
  ['not a number', () => exponential({ baseMs: Number.NaN, maxMs: Infinity }), ['baseMs', 'maxMs']],
  ['a base above the cap', () => exponential({ baseMs: 10, maxMs: 5 }), ['baseMs']],
  ['a factor below 1', () => exponential({ baseMs: 1, maxMs: 5, factor: 0.5 }), ['factor']],
  ['a delay above ten years', () => constant(LONGEST_DELAY_MS + 1), ['delayMs']],
  ['no steps', () => steps([]), ['stepsMs']],
  ['two bad steps', () => steps([1, -2, Number.NaN]), ['stepsMs[1]', 'stepsMs[2]']],
  ['a bad tail', () => steps([1], { tailMs: -1 }), ['tailMs']],
])('%s is refused, each wrong option named [F.6]', (_name, make, options) => {
  try {
    make();
    expect.unreachable();
  } catch (error) {
    if (!isHoldfastError(error, 'INVALID_OPTIONS')) throw error;
    expect(error.details.problems.map((problem) => problem.option)).toEqual(options);
  }
});
