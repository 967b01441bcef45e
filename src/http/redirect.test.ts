import { describe, expect, test } from 'vitest';
import { isRedirect, MOST_REDIRECTS, type Redirected, redirectStep } from './redirect.ts';

const GET: Redirected = {
  rule: 'same-origin',
  status: 302,
  location: '/next',
  from: new URL('https://h.example/here?x=1'),
  method: 'GET',
  followed: 0,
  bodyIsKept: true,
};

function step(change: Partial<Redirected>): string {
  const next = redirectStep({ ...GET, ...change });
  return next.kind === 'follow' ? `${next.method} ${next.url.href}` : 'refuse';
}

describe('a redirect', () => {
  test('within the origin is followed, relative or absolute, up to five times [S0.5]', () => {
    expect(step({})).toBe('GET https://h.example/next');
    expect(step({ location: 'https://h.example:443/next' })).toBe('GET https://h.example/next');
    expect(step({ followed: MOST_REDIRECTS - 1 })).toBe('GET https://h.example/next');
    expect(step({ followed: MOST_REDIRECTS })).toBe('refuse');
  });

  test.each([
    'http://h.example/next',
    'https://h.example:8443/next',
    'https://sub.h.example/next',
    '//evil.example/next',
    'https://user:pw@h.example/next',
    'javascript:alert(1)',
    'http://[bad',
    null,
  ])('to %j is refused [S0.5]', (location) => {
    expect(step({ location })).toBe('refuse');
  });

  test('is refused by the default rule [S0.5]', () => {
    expect(step({ rule: 'refuse' })).toBe('refuse');
  });

  test('of a write is followed only where that keeps the write or reads its result [S0.5]', () => {
    const outcomes = [301, 302, 303, 307, 308].map((status) => step({ status, method: 'PUT' }));
    expect(outcomes).toEqual([
      'refuse',
      'refuse',
      'GET https://h.example/next',
      'PUT https://h.example/next',
      'PUT https://h.example/next',
    ]);
    expect(step({ status: 307, method: 'PUT', bodyIsKept: false })).toBe('refuse');
    expect(step({ status: 303, method: 'HEAD' })).toBe('HEAD https://h.example/next');
  });

  test('is one of five statuses [S0.5]', () => {
    expect([300, 301, 302, 303, 304, 305, 306, 307, 308].filter(isRedirect)).toEqual([301, 302, 303, 307, 308]);
  });
});
