import { Receiver } from '@upstash/qstash';
import { describe, expect, test } from 'vitest';
import { signQstash } from './sign-qstash.ts';

const URL_SIGNED = 'https://example.com/jobs?a=1';
const receiver = new Receiver({ currentSigningKey: 'sig_current', nextSigningKey: 'sig_next' });
const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

function sign(change: Partial<Parameters<typeof signQstash>[0]> = {}): string {
  return signQstash({
    key: 'sig_current',
    url: URL_SIGNED,
    body: encode('{"text":"grüße"}'),
    nowMs: Date.now(),
    tokenId: 'jwt_1',
    ...change,
  });
}

async function takes(signature: string, body = '{"text":"grüße"}', url = URL_SIGNED): Promise<boolean> {
  return receiver.verify({ signature, body, url }).catch(() => false);
}

describe('a signature by the receiver of QStash', () => {
  test('is taken by the current and by the next key, and for an empty body [X.8]', async () => {
    expect(await takes(sign())).toBe(true);
    expect(await takes(sign({ key: 'sig_next' }))).toBe(true);
    expect(await takes(sign({ body: new Uint8Array() }), '')).toBe(true);
  });

  test('is refused for another key, body or address, and after five minutes [X.8]', async () => {
    expect(await takes(sign({ key: 'sig_other' }))).toBe(false);
    expect(await takes(sign(), '{"text":"other"}')).toBe(false);
    expect(await takes(sign(), undefined, `${URL_SIGNED}&b=2`)).toBe(false);
    expect(await takes(sign({ nowMs: Date.now() - 299_000 }))).toBe(true);
    expect(await takes(sign({ nowMs: Date.now() - 301_000 }))).toBe(false);
    // A receiver whose clock is behind.
    expect(await takes(sign({ nowMs: Date.now() + 20_000 }))).toBe(true);
  });
});

test('a signature holds the digest of the bytes as they are, also where they are no text [X.8]', async () => {
  const bytes = Uint8Array.from([0, 255, 254, 13, 10, 0]);
  const [, claims = ''] = sign({ body: bytes }).split('.');
  const digest = Buffer.from(await crypto.subtle.digest('SHA-256', bytes)).toString('base64url');
  expect(JSON.parse(Buffer.from(claims, 'base64url').toString())).toMatchObject({
    iss: 'Upstash',
    sub: URL_SIGNED,
    jti: 'jwt_1',
    body: digest,
    nbf: 0,
  });
});
