import { describe, expect, test } from 'vitest';
import { isFinalAnswer, readWait } from './response-hints.ts';

const NOW = Date.UTC(2026, 10, 16, 7, 0, 0);
const DAY_MS = 86_400_000;

describe('when a destination asks to be tried again', () => {
  test.each<[string, string, number | undefined]>([
    ['Retry-After', '0', 0],
    ['Retry-After', '120', 120_000],
    ['retry-after', ' 1.5 ', 1_500],
    ['Retry-After', '86400', DAY_MS],
    ['Retry-After', '86401', undefined],
    ['Retry-After', 'Mon, 16 Nov 2026 07:00:30 GMT', 30_000],
    ['Retry-After', 'Mon, 16 Nov 2026 06:59:30 GMT', 0],
    ['Retry-After', '6m5s', 365_000],
    ['Retry-After', '1h0.5s', 3_600_500],
    ['Retry-After', '100ms', 100],
    ['Retry-After', '5000000ns', 5],
    ['Retry-After', '25h', undefined],
    ['Retry-After', 'soon', undefined],
    ['Retry-After', '-5', undefined],
    ['Retry-After', '', undefined],
    ['X-RateLimit-Reset', '30', 30_000],
    ['X-RateLimit-Reset', String(NOW / 1_000 + 45), 45_000],
    ['X-RateLimit-Reset', String(NOW + 45_000), 45_000],
    ['X-RateLimit-Reset-Requests', '6m0s', 360_000],
    ['X-RateLimit-Reset-Tokens', '20ms', 20],
  ])('by %s: %s, that is %s ms from now [X.8]', (name, value, expected) => {
    expect(readWait({ [name]: [value] }, NOW)).toBe(expected);
  });

  test('the first header that can be read counts [X.8]', () => {
    const headers = { 'X-RateLimit-Reset-Tokens': ['7'], 'X-RateLimit-Reset': ['8'], 'Retry-After': ['never', '9'] };
    expect(readWait(headers, NOW)).toBe(9_000);
    expect(readWait({ ...headers, 'Retry-After': ['2d'] }, NOW)).toBe(8_000);
    expect(readWait({}, NOW)).toBeUndefined();
  });
});

test('489 is final only with its header [X.8]', () => {
  const header = { 'Upstash-Nonretryable-Error': ['true'] };
  expect(isFinalAnswer(489, header)).toBe(true);
  expect(isFinalAnswer(489, { 'Upstash-NonRetryable-Error': ['True'] })).toBe(true);
  expect(isFinalAnswer(489, {})).toBe(false);
  expect(isFinalAnswer(489, { 'Upstash-Nonretryable-Error': ['false'] })).toBe(false);
  expect(isFinalAnswer(500, header)).toBe(false);
});
