import { expect, test } from 'vitest';
import { uuidV7 } from './uuid-v7.ts';

test('an id is a UUID of version 7 that sorts by its time', () => {
  const zeros = new Uint8Array(10);
  const ones = new Uint8Array(10).fill(255);
  expect(uuidV7(0x0123456789ab, zeros)).toBe('01234567-89ab-7000-8000-000000000000');
  expect(uuidV7(0x0123456789ab, ones)).toBe('01234567-89ab-7fff-bfff-ffffffffffff');
  expect(uuidV7(1_000, ones) < uuidV7(1_001, zeros)).toBe(true);
  expect(uuidV7(2 ** 48 - 1, ones)).toBe('ffffffff-ffff-7fff-bfff-ffffffffffff');
});
