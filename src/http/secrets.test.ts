import { expect, test } from 'vitest';
import { Secrets } from './secrets.ts';

test('a secret is blanked wherever it stands, also as JSON and URLs write it [S0.5]', () => {
  const secrets = new Secrets();
  secrets.add('a"b/c d?');
  expect(secrets.hide('x a"b/c d? y')).toBe('x [hidden] y');
  expect(secrets.hide(JSON.stringify({ t: 'a"b/c d?' }))).toBe('{"t":"[hidden]"}');
  expect(secrets.hide(`?t=${encodeURIComponent('a"b/c d?')}&u`)).toBe('?t=[hidden]&u');
});

test('headers are secret by their names, and short words are left alone [S0.5]', () => {
  const secrets = new Secrets();
  for (const name of ['authorization', 'x-api-key', 'cookie', 'x-auth-token', 'x-signature'])
    secrets.addHeader(name, `value of ${name}`);
  secrets.addHeader('accept', 'application/json');
  secrets.addHeader('x-api-key', 'on');
  expect(secrets.hide('value of x-api-key, application/json, on and on')).toBe('[hidden], application/json, on and on');
  expect(secrets.hide('value of cookie value of x-signature')).toBe('[hidden] [hidden]');
});

test('each part of a secret header is blanked too, longest first, its scheme and first name are not [S0.5]', () => {
  const secrets = new Secrets();
  secrets.addHeader('authorization', 'Bearer SECRET-123456==');
  secrets.addHeader('cookie', 'language=SESSION-1; other="COOKIE-22"');
  expect(secrets.hide('Bearer, language: SECRET-123456== SECRET-123456 SESSION-1 COOKIE-22')).toBe(
    'Bearer, language: [hidden] [hidden] [hidden] [hidden]',
  );
});

test('query values and body fields are secret by their names [S0.5]', () => {
  const secrets = new Secrets();
  secrets.addQuery(new URLSearchParams({ api_key: 'query secret!', q: 'search words', sig: 'signed/1' }));
  const nested = { tokens: ['token-one'], credentials: { user: 'user-name', pass: 'pass-2' } };
  secrets.addBody(
    JSON.stringify({ password: 'pass"word', author: 'an author', keyword: 'a keyword', apiKey: 'key-12', nested }),
  );
  expect(secrets.hide('?api_key=query+secret%21&q=search+words&sig=signed%2F1')).toBe(
    '?api_key=[hidden]&q=search+words&sig=[hidden]',
  );
  const sent = JSON.stringify({ sent: JSON.stringify({ p: 'pass"word' }) });
  expect(secrets.hide(sent)).toBe(String.raw`{"sent":"{\"p\":\"[hidden]\"}"}`);
  expect(secrets.hide('an author, a keyword, user-name, key-12, token-one, pass-2')).toBe(
    'an author, a keyword, user-name, [hidden], [hidden], [hidden]',
  );
});

test('forms are read as queries are; other bodies hold no names [S0.5]', () => {
  const secrets = new Secrets();
  secrets.addBody(new URLSearchParams({ access_token: 'token-two' }));
  const form = new FormData();
  form.set('client_secret', 'secret-3');
  form.set('token_file', new Blob(['bytes']));
  secrets.addBody(form);
  for (const body of ['{"password": "cut off', 'plain text', new Uint8Array(8), undefined]) secrets.addBody(body);
  expect(secrets.hide('token-two secret-3 plain text')).toBe('[hidden] [hidden] plain text');
});
