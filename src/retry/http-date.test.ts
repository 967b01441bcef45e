import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseHttpDate } from './http-date.ts';

const NOW = Date.UTC(2026, 10, 15, 12);
const AN_OLD_SUNDAY = Date.UTC(1994, 10, 6, 8, 49, 37);

describe('HTTP dates', () => {
  test.each(['Sun, 06 Nov 1994 08:49:37 GMT', 'Sunday, 06-Nov-94 08:49:37 GMT', 'Sun Nov  6 08:49:37 1994'])(
    'the form %j is read [F.18]',
    (text) => {
      expect(parseHttpDate(text, NOW)).toBe(AN_OLD_SUNDAY);
    },
  );

  test('every date is read as the platform wrote it [F.18]', () => {
    const seconds = fc.integer({ min: Date.UTC(1000, 0, 1) / 1000, max: Date.UTC(9999, 11, 31, 23, 59, 59) / 1000 });
    fc.assert(
      fc.property(seconds, (s) => {
        expect(parseHttpDate(new Date(s * 1000).toUTCString(), NOW)).toBe(s * 1000);
      }),
      { numRuns: 2000 },
    );
  });

  test('a two-digit year means the latest one not more than 50 years ahead [F.18]', () => {
    expect(parseHttpDate('Friday, 01-Jan-76 00:00:00 GMT', NOW)).toBe(Date.UTC(2076, 0, 1));
    expect(parseHttpDate('Friday, 01-Jan-77 00:00:00 GMT', NOW)).toBe(Date.UTC(1977, 0, 1));
    expect(parseHttpDate('Friday, 29-Feb-28 00:00:00 GMT', NOW)).toBe(Date.UTC(2028, 1, 29));
  });

  test.each([
    '2026-11-15T12:00:00Z',
    '2026-11-15',
    'Sun, 06 Nov 1994 08:49:37 UTC',
    'Sun, 06 Nov 1994 08:49:37 +0000',
    'sun, 06 nov 1994 08:49:37 gmt',
    'Sun, 6 Nov 1994 08:49:37 GMT',
    'Sun, 31 Nov 1994 08:49:37 GMT',
    'Sun, 00 Nov 1994 08:49:37 GMT',
    'Wed, 29 Feb 2023 00:00:00 GMT',
    'Thu, 29 Feb 2100 00:00:00 GMT',
    'Sun, 06 Nov 1994 24:00:00 GMT',
    'Sun, 06 Nov 1994 08:60:00 GMT',
    'Sun, 06 Nov 1994 08:49:61 GMT',
    ' Sun, 06 Nov 1994 08:49:37 GMT',
    'Sun, 06 Nov 1994 08:49:37 GMT and more',
    'Sunday, 31-Nov-94 08:49:37 GMT',
    '',
  ])('%j is no HTTP date [F.18]', (text) => {
    expect(parseHttpDate(text, NOW)).toBeUndefined();
  });

  test('a leap second is read as the second after it', () => {
    expect(parseHttpDate('Sat, 31 Dec 2016 23:59:60 GMT', NOW)).toBe(Date.UTC(2017, 0, 1));
  });
});
