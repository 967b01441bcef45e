import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import { hmacSha256 } from './hmac-sha256.ts';

test("it is Node's HMAC, for keys and texts of every length", () => {
  for (const keyLength of [0, 1, 20, 63, 64, 65, 131, 1_000]) {
    for (const text of ['', 'Hi There', 'ü'.repeat(200)]) {
      const key = 'k\u{1f511}'.repeat(keyLength).slice(0, keyLength);
      const expected = createHmac('sha256', key).update(text).digest('base64url');
      expect(hmacSha256(key, text), `${keyLength} ${text.length}`).toBe(expected);
    }
  }
});

test('the second case of RFC 4231', () => {
  const digest = Buffer.from(hmacSha256('Jefe', 'what do ya want for nothing?'), 'base64url').toString('hex');
  expect(digest).toBe('5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843');
});
