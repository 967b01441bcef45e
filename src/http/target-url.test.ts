import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseBaseUrl, path, shownUrl, targetUrl } from './target-url.ts';

const BASE = 'https://api.example/v1';

function urlOf(asked: string): string {
  const target = targetUrl(BASE, asked);
  return 'url' in target ? target.url.href : `refused: ${target.problem}`;
}

describe('the address of a request', () => {
  test.each([
    ['', BASE],
    ['/', `${BASE}/`],
    ['users', `${BASE}/users`],
    ['/users/a b', `${BASE}/users/a%20b`],
    ['/users/a%2Fb', `${BASE}/users/a%2Fb`],
    ['/files/..hidden/x...', `${BASE}/files/..hidden/x...`],
    ['/a//b', `${BASE}/a//b`],
    ['/time/12:30', `${BASE}/time/12:30`],
    ['/100%25', `${BASE}/100%25`],
    ['/documents:commit', `${BASE}/documents:commit`],
    ['/javascript:alert(1)', `${BASE}/javascript:alert(1)`],
    ['/v1/models/m:predict', `${BASE}/v1/models/m:predict`],
    ['proxy/http://h', `${BASE}/proxy/http://h`],
  ])('%j stays below the base [S0.5]', (asked, href) => {
    expect(urlOf(asked)).toBe(href);
  });

  test.each([
    '..',
    '/..',
    '/../admin',
    '/users/../../admin',
    '/./x',
    '/%2e%2e/admin',
    '/.%2E/admin',
    '/a/..%2f..%2fadmin',
    '/%252e%252e/admin',
    '/%25252e%25252e/admin',
    '/..%5cadmin',
    '/..\\admin',
    '\\\\evil.example',
    '/\\evil.example',
    '//evil.example',
    'http://evil.example',
    'HTTPS:evil.example',
    'javascript:alert(1)',
    '/http://evil.example',
    '/.\t./admin',
    '/a\r\nx: y',
    '/a%0d%0ax',
    '/a%00',
    '/users?admin=1',
    '/users#top',
    '/100%',
  ])('%j is refused [S0.5]', (asked) => {
    expect(urlOf(asked)).toMatch(/^refused: /);
  });

  test('no text leads out of the base, whatever it is made of [S0.5]', () => {
    const piece = fc.constantFrom(
      '.',
      '..',
      '/',
      '//',
      '\\',
      '%2e',
      '%2F',
      '%5c',
      '%252e',
      ':',
      '@',
      '?',
      '#',
      '\t',
      'evil.example',
      'http:',
      'a',
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.array(piece, { maxLength: 12 }).map((parts) => parts.join('')),
          fc.string(),
        ),
        (asked) => {
          const target = targetUrl(BASE, asked);
          if ('problem' in target) return;
          expect(`${target.url.href}/`.startsWith(`${BASE}/`)).toBe(true);
          expect(target.url.search + target.url.hash + target.url.username).toBe('');
        },
      ),
      { numRuns: 2_000 },
    );
  });

  test('the query is encoded, lists repeat their name, undefined is left out [S0.5]', () => {
    const target = targetUrl(BASE, '/x', { a: 'b&c=d', n: [1, 2], yes: true, no: undefined });
    expect('url' in target && target.url.search).toBe('?a=b%26c%3Dd&n=1&n=2&yes=true');
  });

  test('the path template encodes each value as one piece [S0.5]', () => {
    expect(path`/users/${'a/b?c'}/files/${7}`).toBe('/users/a%2Fb%3Fc/files/7');
    expect(urlOf(path`/users/${'..'}/x`)).toMatch(/^refused/);
    expect(path`/plain`).toBe('/plain');
  });

  test.each([
    ['', /value 2 is an empty string/],
    [undefined, /value 2 is undefined/],
    [Number.NaN, /value 2 is NaN/],
  ])('the path template refuses %j: the path would name something else [S0.5]', (id, message) => {
    expect(() => path`/users/${'u1'}/files/${id as string}`).toThrow(message);
  });

  test('what is shown of an address has no query and no user [S0.5]', () => {
    expect(shownUrl(new URL('https://u:p@h.example/a?token=1#x'))).toBe('https://h.example/a');
  });
});

describe('the base of a client', () => {
  test('a slash at its end does not matter [S0.5]', () => {
    expect(parseBaseUrl('http://h/a//')).toEqual({ base: 'http://h/a' });
    expect(parseBaseUrl(new URL('http://h'))).toEqual({ base: 'http://h' });
  });

  test.each(['', 'h.example', '/api', 'ftp://h', 'http://u:p@h', 'http://h?x=1', 'http://h#x', undefined, 7])(
    '%j is refused [S0.5]',
    (value) => {
      expect(parseBaseUrl(value)).toEqual({ problem: expect.any(String) as string });
    },
  );
});
