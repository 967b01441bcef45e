import { expect, test } from 'vitest';
import { errorShape } from './error-shape.ts';

const of = (message: string, code?: string): string =>
  errorShape({ name: 'Error', message, kind: 'unknown', ...(code === undefined ? {} : { code }) });

test('errors of one cause have one shape, whatever ids, numbers and values they name', () => {
  const one = of(
    'order 17 of 0190a1b2-0000-7000-8000-000000000001 at 10.0.0.1:5432 is "open" (req_abc123def456)',
    'E1',
  );
  expect(of('order 8 of 0190a1b2-0000-7000-8000-0000000000ff at 10.0.0.22:80 is "shut" (req_zzz999yyy888)', 'E1')).toBe(
    one,
  );
  expect(one).toBe('Error E1: order 0 of … at 0 is … (…)');
});

test('another code, name or text is another cause', () => {
  expect(of('x', 'E1')).not.toBe(of('x', 'E2'));
  expect(of('x')).not.toBe(of('y'));
  expect(errorShape({ name: 'TypeError', message: 'x', kind: 'unknown' })).not.toBe(of('x'));
});

test('it is short', () => {
  expect(of('word '.repeat(1_000)).length).toBeLessThanOrEqual(160);
});
