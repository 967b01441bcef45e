import fc from 'fast-check';
import { expect, test } from 'vitest';
import { childKey, personId, recordId } from './record-id.ts';

test('no two requests have one id, wherever a separator may stand in their parts [S1.2]', () => {
  const part = fc.string({
    unit: fc.constantFrom('a', ':', '"', ',', '\\', '[', ']', '\ud800', '\udc00', ' '),
    maxLength: 3,
  });
  const parts = fc.tuple(part, part, fc.option(part), part);
  fc.assert(
    fc.property(parts, parts, (one, two) => {
      expect(recordId(...one) === recordId(...two)).toBe(JSON.stringify(one) === JSON.stringify(two));
    }),
  );
  expect(recordId('s', 'd', null, 'k')).not.toBe(recordId('s', 'd', 'null', 'k'));
  expect(recordId('s', 'd', '', 'k')).not.toBe(recordId('s', 'd', null, 'k'));
});

test('ids, persons and keys for others are base64url of 43 characters, and never equal one another', () => {
  const ids = [recordId('s', 'd', 'p', 'k'), personId('s', 'p'), childKey('s', 'p'), childKey('d', 'p')];
  for (const id of ids) expect(id).toMatch(/^[\w-]{43}$/);
  expect(new Set(ids).size).toBe(ids.length);
});

test('ids stay the same over releases: records of the last release are found by the next', () => {
  expect(recordId('orders', 'POST /orders', 'ann', 'k1')).toBe('09k3JoqgztwhRpRYDxatu2D-KdBBITYFRqlfg9IDAVU');
  expect(personId('orders', 'ann')).toBe('KFGrewKCWY9bBWE2Q9oCQO2C-TN0pOet6GlujZ8UuTk');
  expect(childKey('x', 'mail')).toBe('4n_FNA5SOaWKouYQypWLhaCt1f2UK6Uyu04Q-DbfIr4');
});
