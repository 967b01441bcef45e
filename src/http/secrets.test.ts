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
