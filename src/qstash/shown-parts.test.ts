import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { keptBody } from './message-body.ts';
import { redactedParts } from './shown-parts.ts';

const hash = (text: string): string => `REDACTED:${createHash('sha256').update(text).digest('hex')}`;

describe('what is kept and shown of a message', () => {
  it.each([
    ['text', Buffer.from('grüße'), { body: 'grüße' }],
    ['a byte order mark', Buffer.from([0xef, 0xbb, 0xbf, 0x61]), { body: '\ufeffa' }],
    ['bytes that are no text', Buffer.from([0xff, 0x00]), { bodyBase64: '/wA=' }],
    ['a NUL', Buffer.from('a\0b'), { bodyBase64: 'YQBi' }],
    ['nothing', Buffer.alloc(0), {}],
  ])('keeps %s byte for byte [X.8]', (_what, bytes, expected) => {
    expect(keptBody(new Uint8Array(bytes))).toEqual(expected);
  });

  it('hides of a schedule what should be hidden, and the same looks the same [X.8]', () => {
    const delivery = { method: 'POST', retries: 3, headers: { 'X-Key': ['k'], 'X-Open': ['o'] }, body: 'b' } as const;
    expect(redactedParts({ ...delivery, hidden: { body: true, headers: ['x-key'] } })).toEqual({
      header: { 'X-Key': [hash('k')], 'X-Open': ['o'] },
      body: hash('b'),
    });
    expect(redactedParts({ ...delivery, hidden: { headers: true } })).toEqual({
      header: { 'X-Key': [hash('k')], 'X-Open': [hash('o')] },
      body: 'b',
    });
    expect(redactedParts(delivery)).toEqual({ header: delivery.headers, body: 'b' });
  });
});
