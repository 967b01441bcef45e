import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { HINT_HEADERS, readHint } from './hint.ts';

const NOW = Date.UTC(2026, 10, 15, 12, 0, 0);
const IN_90_S = new Date(NOW + 90_000).toUTCString();
const PAST = new Date(NOW - 90_000).toUTCString();

describe('retry-after', () => {
  test.each([
    ['120', 120_000],
    [' 120 ', 120_000],
    ['1.5', 1500],
    ['0.001', 1],
    ['007', 7000],
    ['2026', 2_026_000],
    [String(10 ** 12), 10 ** 15],
    ['9'.repeat(400), Number.MAX_SAFE_INTEGER],
    [IN_90_S, 90_000],
    ['Sunday, 15-Nov-26 12:01:30 GMT', 90_000],
    ['Sun Nov 15 12:01:30 2026', 90_000],
  ])('%j means %d ms [F.18]', (value, afterMs) => {
    expect(readHint({ 'retry-after': value }, NOW)).toEqual({ afterMs, source: 'retry-after' });
  });

  test.each([
    '',
    ' ',
    '0',
    '0.0',
    '-1',
    '+5',
    '1e3',
    '0x10',
    '5s',
    '1.',
    '.5',
    '2026-11-15T13:00:00Z',
    'soon',
    PAST,
    'NaN',
    'Infinity',
    '٣',
  ])('%j is no hint [F.18]', (value) => {
    expect(readHint({ 'retry-after': value }, NOW)).toBeUndefined();
  });

  test('an absent header is no hint, whatever stands in its place [F.18]', () => {
    expect(readHint({}, NOW)).toBeUndefined();
    expect(readHint(new Headers(), NOW)).toBeUndefined();
    expect(readHint({ 'retry-after': undefined, 'retry-after-ms': null }, NOW)).toBeUndefined();
    expect(readHint({ 'retry-after': 5 }, NOW)).toBeUndefined();
  });

  test('of two values the larger counts, joined by a comma or in a list, dates too [F.18]', () => {
    expect(readHint({ 'retry-after': '5, 30' }, NOW)?.afterMs).toBe(30_000);
    expect(readHint({ 'retry-after': ['30', '5'] }, NOW)?.afterMs).toBe(30_000);
    expect(readHint({ 'retry-after': `5, ${IN_90_S}` }, NOW)?.afterMs).toBe(90_000);
    expect(readHint({ 'retry-after': 'Sunday, 15-Nov-26 12:01:30 GMT,100' }, NOW)?.afterMs).toBe(100_000);
    expect(readHint({ 'retry-after': 'rubbish, 7' }, NOW)?.afterMs).toBe(7000);
    const twice = new Headers([
      ['Retry-After', '4'],
      ['Retry-After', '8'],
    ]);
    expect(readHint(twice, NOW)?.afterMs).toBe(8000);
  });

  test('a date is measured from the answer’s own clock when ours is an hour off [F.18]', () => {
    const headers = { 'retry-after': IN_90_S, date: new Date(NOW).toUTCString() };
    expect(readHint(headers, NOW - 3_600_000)?.afterMs).toBe(90_000);
    expect(readHint(headers, NOW + 3_600_000)?.afterMs).toBe(90_000);
    expect(readHint({ ...headers, date: 'rubbish' }, NOW)?.afterMs).toBe(90_000);
    expect(readHint({ 'retry-after': PAST, date: new Date(NOW).toUTCString() }, NOW - 3_600_000)).toBeUndefined();
  });
});

describe('precedence', () => {
  test('milliseconds win over seconds, and an unusable value gives way to the next header [F.18]', () => {
    const both = { 'retry-after-ms': '250', 'retry-after': '9' };
    expect(readHint(both, NOW)).toEqual({ afterMs: 250, source: 'retry-after-ms' });
    expect(readHint({ ...both, 'retry-after-ms': '0' }, NOW)).toEqual({ afterMs: 9000, source: 'retry-after' });
    expect(readHint({ ...both, 'retry-after-ms': 'x' }, NOW)).toEqual({ afterMs: 9000, source: 'retry-after' });
    expect(readHint({ 'x-amz-retry-after': '1500' }, NOW)).toEqual({ afterMs: 1500, source: 'x-amz-retry-after' });
    expect(readHint({ 'x-ms-retry-after-ms': '75' }, NOW)).toEqual({ afterMs: 75, source: 'x-ms-retry-after-ms' });
  });

  test('retry-after wins over the rate-limit headers [F.18]', () => {
    const headers = { 'retry-after': '2', ratelimit: '"a";r=0;t=30', 'x-ratelimit-reset': '60' };
    expect(readHint(headers, NOW, 429)).toEqual({ afterMs: 2000, source: 'retry-after' });
  });

  test('x-should-retry is a verdict in both directions and keeps a delay beside it [F.18]', () => {
    expect(readHint({ 'x-should-retry': 'true' }, NOW)).toEqual({ retry: true, source: 'x-should-retry' });
    expect(readHint({ 'X-Should-Retry': 'False' }, NOW)).toEqual({ retry: false, source: 'x-should-retry' });
    expect(readHint({ 'x-should-retry': 'true', 'retry-after': '3' }, NOW)).toEqual({
      afterMs: 3000,
      retry: true,
      source: 'retry-after',
    });
    expect(readHint({ 'x-should-retry': 'true, false' }, NOW)?.retry).toBe(false);
    expect(readHint({ 'x-should-retry': '1' }, NOW)).toBeUndefined();
  });
});

describe('rate-limit headers', () => {
  test.each([
    ['"default";r=0;t=30', 30_000],
    ['default;r=0;t=30', 30_000],
    ['"burst";r=0;t=5, "daily";r=0;t=3600', 3_600_000],
    ['"burst";r=0;t=5, "daily";r=10;t=3600', 5000],
    ['"odd;r=9,name" ; r=0 ; t=7', 7000],
    ['limit=100, remaining=0, reset=30', 30_000],
  ])('a spent window in ratelimit: %s is a hint for a 429 [F.18]', (ratelimit, afterMs) => {
    expect(readHint({ ratelimit }, NOW, 429)).toEqual({ afterMs, source: 'ratelimit' });
  });

  test.each([
    '"a";r=1;t=30',
    '"a";t=30',
    '"a";r=0',
    '"a";r=0;t=-1',
    '"a";r=0;t=soon',
    'limit=100, remaining=5, reset=30',
    ';;,=,"',
  ])('ratelimit: %s says nothing [F.18]', (ratelimit) => {
    expect(readHint({ ratelimit }, NOW, 429)).toBeUndefined();
  });

  test('a reset header holds seconds, epoch seconds or epoch milliseconds [F.18]', () => {
    const at = (value: number) => readHint({ 'x-ratelimit-reset': String(value) }, NOW, 429)?.afterMs;
    expect(at(45)).toBe(45_000);
    expect(at((NOW + 45_000) / 1000)).toBe(45_000);
    expect(at(NOW + 45_000)).toBe(45_000);
    expect(at((NOW - 45_000) / 1000)).toBeUndefined();
    expect(readHint({ 'ratelimit-reset': '12' }, NOW, 429)).toEqual({ afterMs: 12_000, source: 'ratelimit-reset' });
  });

  test('a reset counts only when nothing remains or nothing is said about it [F.18]', () => {
    const headers = { 'x-ratelimit-reset': '45' };
    expect(readHint({ ...headers, 'x-ratelimit-remaining': '0' }, NOW, 429)?.afterMs).toBe(45_000);
    expect(readHint({ ...headers, 'x-ratelimit-remaining': '3' }, NOW, 429)).toBeUndefined();
    expect(readHint({ ...headers, 'x-ratelimit-remaining': '?' }, NOW, 429)).toBeUndefined();
  });

  test.each([undefined, 200, 500, 503])('for status %s rate-limit headers are not read [F.18]', (status) => {
    expect(readHint({ ratelimit: '"a";r=0;t=30', 'x-ratelimit-reset': '60' }, NOW, status)).toBeUndefined();
  });
});

describe('gRPC pushback', () => {
  test('a delay is a delay; a negative, empty or unreadable one means no [F.18]', () => {
    const pushback = (value: unknown) => readHint({ 'grpc-retry-pushback-ms': value }, NOW);
    const source = 'grpc-retry-pushback-ms';
    expect(pushback('1500')).toEqual({ afterMs: 1500, source });
    expect(pushback(['1500'])).toEqual({ afterMs: 1500, source });
    expect(pushback('0')).toBeUndefined();
    for (const no of ['-1', 'rubbish', '', '1.5', ['10', 'x']]) expect(pushback(no)).toEqual({ retry: false, source });
  });
});

describe('header sources', () => {
  test('names in any case, Headers, maps and metadata with lists are all read [F.18]', () => {
    const metadata = { get: (name: string) => (name === 'retry-after' ? ['6'] : []) };
    expect(readHint({ 'Retry-After': '6' }, NOW)?.afterMs).toBe(6000);
    expect(readHint({ 'RETRY-AFTER': '6' }, NOW)?.afterMs).toBe(6000);
    expect(readHint(new Headers({ 'Retry-After': '6' }), NOW)?.afterMs).toBe(6000);
    expect(readHint(new Map([['retry-after', '6']]), NOW)?.afterMs).toBe(6000);
    expect(readHint(metadata, NOW)?.afterMs).toBe(6000);
  });

  test('headers that throw when read say nothing [F.15]', () => {
    const throwing = {
      get(): never {
        throw new Error('no');
      },
    };
    const trap = Object.defineProperty({}, 'retry-after', {
      enumerable: true,
      get() {
        throw new Error('no');
      },
    });
    expect(readHint(throwing, NOW)).toBeUndefined();
    expect(readHint(trap, NOW)).toBeUndefined();
  });

  test('whatever the headers hold, a hint is finite and above zero, and nothing is thrown [F.18]', () => {
    const name = fc.constantFrom(
      'retry-after',
      'retry-after-ms',
      'ratelimit',
      'x-ratelimit-reset',
      'date',
      'x-should-retry',
      'grpc-retry-pushback-ms',
    );
    const text = fc.oneof(
      fc.string(),
      fc.double().map(String),
      fc.integer().map(String),
      fc.date({ noInvalidDate: true }).map((d) => d.toUTCString()),
      fc.array(fc.constantFrom('"a"', ';', 'r=0', 't=', '9', ',', ' ', '-'), { maxLength: 12 }).map((p) => p.join('')),
    );
    const headers = fc.dictionary(name, fc.oneof(text, fc.array(text), fc.anything()), { noNullPrototype: false });
    fc.assert(
      fc.property(headers, fc.constantFrom(undefined, 429, 503), (h, status) => {
        const hint = readHint(h, NOW, status);
        if (hint?.afterMs === undefined) return;
        expect(Number.isFinite(hint.afterMs)).toBe(true);
        expect(hint.afterMs).toBeGreaterThan(0);
      }),
      { numRuns: 2000 },
    );
  });
});

test('the list of headers names exactly those that are read', () => {
  const read = new Set<string>();
  const headers = {
    get(name: string): unknown {
      read.add(name);
      return undefined;
    },
  };
  readHint(headers, NOW, 429);
  expect([...read].toSorted()).toEqual([...HINT_HEADERS].toSorted());
});
