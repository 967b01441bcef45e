import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { hideSecrets } from './hide-secrets.ts';

/** Also halves of surrogate pairs and control characters; fast-check's own list of such takes a second to build. */
const anyUnit = fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code));

describe('hidden in a text is', () => {
  test.each([
    [
      'user and password of a URL',
      'GET https://bob:hunter2@host:8080/a failed',
      'GET https://[hidden]@host:8080/a failed',
    ],
    ['a connection string, odd password', 'amqp://app:p/w#1@broker:5672/v', 'amqp://[hidden]@broker:5672/v'],
    ['a password without a scheme', 'to //app:hunter2@db/x', 'to //[hidden]@db/x'],
    ['the query of a URL', 'see https://x.example/a?email=b@c.d&n=1, then', 'see https://x.example/a?[hidden], then'],
    ['the fragment of a URL', '(https://x.example/cb#access_token=abc)', '(https://x.example/cb#[hidden])'],
    ['the query of a path', 'GET /users?email=b@c.d 500', 'GET /users?[hidden] 500'],
    ['a bearer token', 'sent Bearer abc123.def-456', 'sent Bearer [hidden]'],
    ['basic credentials', 'BASIC dXNlcjpwYXNz', 'BASIC [hidden]'],
    [
      'a header',
      'Authorization: Digest user="a", response="b"\nnext',
      'Authorization: [hidden]"a", response="b"\nnext',
    ],
    ['a cookie', "{ 'set-cookie': 'sid=1; Path=/' }", "{ 'set-cookie': '[hidden]' }"],
    ['an api key', 'api_key=abc&x=1', 'api_key=[hidden]&x=1'],
    ['a setting', 'host=db password=abc dbname=x', 'host=db password=[hidden] dbname=x'],
    ['a field of JSON', '{"user":"bob","apiKey":"a\\"b","n":1}', '{"user":"bob","apiKey":"[hidden]","n":1}'],
    [
      'a field of JSON in JSON',
      String.raw`{"sent":"{\"token\":\"a\\\"b\",\"n\":1}"}`,
      String.raw`{"sent":"{\"token\":\"[hidden]\",\"n\":1}"}`,
    ],
    ['a list of JSON', '{"tokens":["a]","b"],"n":1}', '{"tokens":[hidden],"n":1}'],
    ['a field of an object as Node prints it', "{ clientSecret: 'abc', n: 1 }", "{ clientSecret: '[hidden]', n: 1 }"],
    ['a quote that is not closed', '{"secret":"abc def', '{"secret":"[hidden]'],
    ['a JWT', 'bad eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc_def-1 given', 'bad [hidden] given'],
    ['a cloud key', 'key AKIAIOSFODNN7EXAMPLE used', 'key [hidden] used'],
    ['a key with a known beginning', 'ghp_abcdefghijklmnop1234 sk-proj-abcdefghijklmnopqr', '[hidden] [hidden]'],
    ['a private key', 'a -----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY----- b', 'a [hidden] b'],
    ['a long word behind such a name', 'the token is 9f86d081884c7d659a2f', 'the token is [hidden]'],
    ['a value of a unique index', 'Key (token)=(9f86d081) already exists', 'Key (token)=([hidden]) already exists'],
  ])('%s', (_, text, shown) => {
    expect(hideSecrets(text)).toBe(shown);
    expect(hideSecrets(shown)).toBe(shown);
  });

  test.each([
    'connect ECONNREFUSED 127.0.0.1:5432',
    'Unexpected token } in JSON at position 5',
    'password authentication failed for user "app"',
    'session: not found',
    'basic functionality of the bearer service',
    'duplicate key value violates unique constraint "orders_pkey"',
    'idempotencyKey: order:1:pay',
    'payload.dedupeKey: Invalid input: expected string, received undefined',
    'https://registry.example/@scope/name and http://localhost:8080/@vite/client',
    'http://[::1]:8080/x',
    '    at run (file:///app/src/a.ts?v=1:10:5)',
    'author: Bob, keyword: retry, status: 500',
  ])('nothing of %j', (text) => {
    expect(hideSecrets(text)).toBe(text);
  });
});

test('no secret shows, wherever it stands and whatever is around it', () => {
  const word = fc.stringMatching(/^[a-z]{1,8}$/);
  const secret = fc.stringMatching(/^S3[A-Za-z0-9]{14,40}$/);
  const frame = fc.constantFrom<(secret: string) => string>(
    (one) => `https://user:${one}@host/path`,
    (one) => `redis://:${one}@host`,
    (one) => `https://host/path?q=${one}`,
    (one) => `Bearer ${one}`,
    (one) => `Authorization: Basic ${one}`,
    (one) => `authorization=${one}`,
    (one) => `api_key=${one}`,
    (one) => `"password": "${one} ${one}"`,
    (one) => JSON.stringify({ access_token: one, n: 1 }),
    (one) => JSON.stringify({ body: JSON.stringify({ clientSecret: `${one}"${one}` }) }),
    (one) => `token ${one}`,
    (one) => `invalid secret: ${one}`,
    (one) => `eyJ${one}.${one}.${one}`,
    (one) => `x-api-key: ${one}`,
  );
  fc.assert(
    fc.property(fc.array(word), frame, secret, fc.array(word), (before, put, one, after) => {
      const text = [...before, put(one), ...after].join(' ');
      expect(hideSecrets(text)).not.toContain(one);
    }),
    { numRuns: 500 },
  );
});

test('any text is taken, and a second look finds nothing more in it than the first', () => {
  fc.assert(
    fc.property(fc.string({ unit: anyUnit, maxLength: 100 }), (text) => {
      const once = hideSecrets(text);
      expect(hideSecrets(once)).toBe(once);
    }),
  );
});

test('a text that is made to be slow takes time in proportion to its length [X.9]', () => {
  // Words that begin again and again what never ends: looked for anew from each of them, half a megabyte takes minutes.
  const seeds = [
    'eyJ',
    '-eyJ',
    'a.eyJ-',
    'SG.',
    '-----BEGIN ',
    '//',
    '?a=',
    'token: ',
    'session:',
    '"key":',
    "='",
    '[{',
  ];
  const startedMs = performance.now();
  for (const first of seeds) {
    for (const second of ['', '-', '"', '\\']) hideSecrets(`${`${first}${second}`.repeat(100_000 / first.length)} `);
  }
  expect(performance.now() - startedMs).toBeLessThan(20_000);
});

test('a token is found wherever it begins in a longer word', () => {
  const token = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl';
  for (const [text, shown] of [
    [`id-${token}`, 'id-[hidden]'],
    [`id-eyJ-${token} rest`, 'id-[hidden] rest'],
    [`a.${token}, b-eyJ.`, 'a.[hidden], b-eyJ.'],
    [`eyJ.a-${token}`, 'eyJ.a-[hidden]'],
  ] as const) {
    expect(hideSecrets(text)).toBe(shown);
  }
});
