import { expect, test } from 'vitest';
import { open, seal } from './sealed-text.ts';

const SECRET = 'a secret of more than 32 characters';

test('a sealed text is opened by its secret alone, and never sealed twice alike [X.17]', async () => {
  const sealed = await seal(SECRET, 'sig_ünd 💌');
  expect(sealed).not.toContain('sig_');
  expect(await seal(SECRET, 'sig_ünd 💌')).not.toBe(sealed);
  expect(await open(SECRET, sealed)).toBe('sig_ünd 💌');
  await expect(open(`${SECRET}!`, sealed)).rejects.toMatchObject({ code: 'SECRET_WRONG' });
});

test('a sealed text that was tampered with is refused, wherever that was [X.17]', async () => {
  const parts = (await seal(SECRET, 'sig_1')).split('.');
  const swapped = (text: string): string => (text.startsWith('A') ? 'B' : 'A') + text.slice(1);
  for (const place of [2, 3]) {
    const tampered = parts.map((part, at) => (at === place ? swapped(part) : part)).join('.');
    await expect(open(SECRET, tampered)).rejects.toMatchObject({ code: 'SEALED_TEXT_DAMAGED' });
  }
  for (const text of [
    '',
    'sig_1',
    parts.slice(0, 3).join('.'),
    [...parts, 'x'].join('.'),
    `s2.${parts.slice(1).join('.')}`,
  ]) {
    await expect(open(SECRET, text)).rejects.toMatchObject({ code: 'SEALED_TEXT_DAMAGED' });
  }
});

test('without a secret of 32 characters nothing is sealed or opened, and the error says what to set [X.17]', async () => {
  const sealed = await seal(SECRET, 'sig_1');
  for (const secret of [undefined, '', 'too short']) {
    const refusal = { code: 'SECRET_MISSING', message: expect.stringContaining('HOLDFAST_SECRET') };
    await expect(seal(secret, 'x')).rejects.toMatchObject(refusal);
    await expect(open(secret, sealed)).rejects.toMatchObject(refusal);
  }
});
