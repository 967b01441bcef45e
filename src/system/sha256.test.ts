import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import type * as original from './sha256.ts';
import { portableSha256, sha256 } from './sha256.ts';

const expected = (data: string | Uint8Array): string => createHash('sha256').update(data).digest('base64url');

describe.each([
  ['the one of the platform', sha256],
  ['the portable one', portableSha256],
])('SHA-256, %s', (_, hash) => {
  test('gives what the standard gives for texts and bytes of every length around a block', () => {
    for (let length = 0; length <= 200; length++) {
      const bytes = Uint8Array.from({ length }, (_item, i) => (i * 7 + length) & 0xff);
      expect(hash(bytes)).toBe(expected(bytes));
      expect(hash('ä'.repeat(length))).toBe(expected('ä'.repeat(length)));
    }
  });

  test('gives what the standard gives for any text', () => {
    const unit = fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code));
    fc.assert(
      fc.property(fc.string({ unit }), (text) => {
        expect(hash(text)).toBe(expected(text));
      }),
    );
  });

  test('reads a view of a larger buffer as the bytes it shows', () => {
    const view = new Uint8Array(new Uint8Array(100).fill(7).buffer, 10, 20);
    expect(hash(view)).toBe(expected(Buffer.alloc(20, 7)));
  });
});

test('where there is no Node the portable one is taken', async () => {
  vi.stubGlobal('process', { ...process, getBuiltinModule: undefined });
  const elsewhere = (await import(`${import.meta.resolve('./sha256.ts')}?elsewhere`)) as typeof original;
  vi.unstubAllGlobals();
  expect(elsewhere.sha256).toBe(elsewhere.portableSha256);
});
