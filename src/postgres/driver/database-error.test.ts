import { expect, test } from 'vitest';
import { isConflict, isFaultOfData, isRefusal, sqlStateOf } from './database-error.ts';

const coded = (code: string, cause?: unknown): Error => Object.assign(new Error('x', { cause }), { code });

test('the state is found under what a query builder wrapped around it', () => {
  expect(sqlStateOf(new Error('Failed query', { cause: coded('40001') }))).toBe('40001');
  const meta = { driverAdapterError: { cause: { originalCode: '40001' } } };
  expect(sqlStateOf(Object.assign(coded('P2034'), { meta }))).toBe('40001');
  expect(sqlStateOf(coded('EPIPE'))).toBeUndefined();
  expect(sqlStateOf('40001')).toBeUndefined();
});

test.each([
  ['40001', { isRefusal: true, isConflict: true, isFaultOfData: false }],
  ['23505', { isRefusal: true, isConflict: false, isFaultOfData: true }],
  ['22P05', { isRefusal: true, isConflict: false, isFaultOfData: true }],
  ['57P01', { isRefusal: false, isConflict: false, isFaultOfData: false }],
  ['08006', { isRefusal: false, isConflict: false, isFaultOfData: false }],
  ['53300', { isRefusal: true, isConflict: false, isFaultOfData: false }],
  ['ECONNRESET', { isRefusal: false, isConflict: false, isFaultOfData: false }],
])('%s is what it is', (code, expected) => {
  const error = coded(code);
  expect({ isRefusal: isRefusal(error), isConflict: isConflict(error), isFaultOfData: isFaultOfData(error) }).toEqual(
    expected,
  );
});
