import { describe, expect, it } from 'vitest';
import { keptBody } from './message-body.ts';

describe('what is kept of a message', () => {
  it.each([
    ['text', Buffer.from('grüße'), { body: 'grüße' }],
    ['a byte order mark', Buffer.from([0xef, 0xbb, 0xbf, 0x61]), { body: '\ufeffa' }],
    ['bytes that are no text', Buffer.from([0xff, 0x00]), { bodyBase64: '/wA=' }],
    ['a NUL', Buffer.from('a\0b'), { bodyBase64: 'YQBi' }],
    ['nothing', Buffer.alloc(0), {}],
  ])('keeps %s byte for byte [X.8]', (_what, bytes, expected) => {
    expect(keptBody(new Uint8Array(bytes))).toEqual(expected);
  });
});
