import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatAge, formatDuration, parseDuration, writeDuration } from './duration.ts';

describe('a duration on the command line', () => {
  test.each([
    ['250ms', 250],
    ['30s', 30_000],
    ['15m', 900_000],
    ['2h', 7_200_000],
    ['7d', 604_800_000],
    ['1h30m', 5_400_000],
    ['1.5s', 1_500],
    ['0s', 0],
  ])('%s is %d ms', (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  test.each(['', '15', 'm', '15 m', '-5s', '5y', '1e3s', 's5', '5sx', '90071992547409935ms', `${'9'.repeat(30)}d`])(
    '%j is none',
    (text) => {
      expect(parseDuration(text)).toBeUndefined();
    },
  );
});

describe('a length of time for people', () => {
  test.each([
    [0, '0 ms'],
    [999, '999 ms'],
    [1_000, '1 s'],
    [59_999, '59 s'],
    [60_000, '1 min'],
    [3_599_999, '59 min'],
    [3_600_000, '1 h'],
    [172_799_999, '47 h'],
    [172_800_000, '2 days'],
  ])('%d ms is %s', (ms, text) => {
    expect(formatDuration(ms)).toBe(text);
  });

  test('is written as an option takes it', () => {
    expect([10_000, 300_000, 604_800_000, 1_500, 90_000].map(writeDuration)).toEqual([
      '10s',
      '5m',
      '7d',
      '1500ms',
      '90s',
    ]);
    fc.assert(
      fc.property(fc.integer({ min: 1 }), (ms) => {
        expect(parseDuration(writeDuration(ms))).toBe(ms);
      }),
    );
  });

  test('is said with its direction', () => {
    expect(formatAge(0, 180_000)).toBe('3 min ago');
    expect(formatAge(12_000, 0)).toBe('in 12 s');
    expect(formatAge(500, 0)).toBe('just now');
  });

  test('never says more than has passed', () => {
    fc.assert(
      fc.property(fc.nat(10 * 86_400_000), (ms) => {
        const said = parseDuration(formatDuration(ms).replace(' days', 'd').replace(' min', 'm').replace(' ', ''));
        expect(said).toBeLessThanOrEqual(ms);
      }),
    );
  });
});
