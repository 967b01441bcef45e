import { describe, expect, it } from 'vitest';
import { rawDestination, readDestination } from './destination.ts';
import { targetBelow } from './request-target.ts';

describe('a raw destination', () => {
  it.each([
    ['/v2/publish/https://ex.com/a//b?b=1&c=%2F', 'https://ex.com/a//b?b=1&c=%2F'],
    ['/v2/publish/https://ex.com', 'https://ex.com'],
    [
      '/v2/publish/https://ex.com/a?qstash_token=t&upstash-retries=0',
      'https://ex.com/a?qstash_token=t&upstash-retries=0',
    ],
    ['/v2/publish/https://ex.com/%2e%2e/%2e%2e/keys', 'https://ex.com/%2e%2e/%2e%2e/keys'],
    ['/v2/publish/https://ex.com/a#part', 'https://ex.com/a'],
  ])('of %s is all that follows, undecoded, with its query [X.8]', (target, expected) => {
    const below = targetBelow('', target);
    expect(rawDestination((below?.path ?? '').replace('publish/', ''), below?.query, false).text).toBe(expected);
  });

  it('loses the token and the settings where the token stands in the query, and keeps the rest as it was [X.8]', () => {
    const query = 'a=%20b&qstash_token=t&UPSTASH-Retries=2&c&upstash-forward-x=y%20z';
    const { text, settings } = rawDestination('https://ex.com/', query, true);
    expect(text).toBe('https://ex.com/?a=%20b&c');
    expect([...settings]).toEqual([
      ['upstash-retries', '2'],
      ['upstash-forward-x', 'y z'],
    ]);
  });

  it('is an address as it was written, or a URL group [X.8]', () => {
    expect(readDestination('HTTPS://Ex.com')).toEqual({ kind: 'url', url: 'HTTPS://Ex.com' });
    expect(readDestination('my.group_1-a')).toEqual({ kind: 'group', name: 'my.group_1-a' });
  });

  it.each([
    '../keys/rotate',
    '..',
    'ftp://ex.com',
    'a b',
    'https://user:pass@ex.com',
    'https://',
    'https:/ex.com/one-slash',
    'https://ex.com/a b',
    'api/llm',
    `https://ex.com/${'a'.repeat(9_000)}`,
    '%68ttps://ex.com',
  ])('is refused with 400 where it is %s [X.8]', (text) => {
    expect(() => readDestination(text)).toThrow(expect.objectContaining({ status: 400 }));
  });
});

describe('a request target', () => {
  it.each(['/v2', '/v20/keys', '/x/../v2/keys', '/V2/keys', '//v2/keys', '/v2\\keys', 'http://host/v2/keys'])(
    'is not below /v2/ where it is %s [X.8]',
    (target) => {
      expect(targetBelow('', target)).toBeUndefined();
    },
  );

  it('is below where the API is mounted [X.8]', () => {
    expect(targetBelow('/ops', '/ops/v2/keys?a=1')).toEqual({ path: 'keys', query: 'a=1' });
    expect(targetBelow('/ops', '/v2/keys')).toBeUndefined();
  });
});
