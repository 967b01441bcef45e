import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { ADAPTERS } from '../idempotency-http/adapters.ts';
import { bench } from '../idempotency-http/bench-route.ts';
import { call } from '../idempotency-http/call.ts';

/** What resolvers of real applications give for somebody who is not signed in. */
const NOBODY: readonly unknown[] = [null, undefined, '', 'null', 'undefined', 'NaN', '[object Object]'];
const NO_TEXT: readonly unknown[] = [0, 7, true, { id: 'ada' }, ['ada'], 7n];

describe.each(ADAPTERS)('$name', (adapter) => {
  test(`${adapter.name}: a resolver that names nobody never makes a record that others share`, async () => {
    for (const who of NOBODY) {
      const { url, count } = await bench(adapter, (n) => ({ body: `of ${n}` }), { identify: () => who });
      const key = randomUUID();
      for (const person of ['alice', 'bob']) {
        const { status, problem } = await call(url, 'x', { key, headers: { 'x-person': person } });
        expect([who, status, problem]).toEqual([who, 403, 'person-unknown']);
      }
      expect([who, count()]).toEqual([who, 0]);
    }
  });

  test(`${adapter.name}: an identity that is no text is a fault of the route, and nothing runs`, async () => {
    for (const who of NO_TEXT) {
      const { url, count } = await bench(adapter, (n) => ({ body: `of ${n}` }), { identify: () => who });
      const { status } = await call(url, 'x', { key: 'k' });
      expect([String(who), status, count()]).toEqual([String(who), 500, 0]);
    }
  });

  test(`${adapter.name}: a value under any name is part of the request, those of secrets too`, async () => {
    const { url, count } = await bench(adapter, (n) => ({ body: `session ${n}` }));
    for (const [right, wrong] of [
      [
        { user: 'ada', password: 'right' },
        { user: 'ada', password: 'wrong' },
      ],
      [{ key: 'a.txt' }, { key: 'b.txt' }],
      [{ card: { pin: 1234 } }, { card: { pin: 1235 } }],
      [{ tokens: ['a', 'b'] }, { tokens: ['b', 'a'] }],
      [{ token: null }, {}],
    ]) {
      const key = randomUUID();
      const before = count();
      const first = await call(url, 'x', { key, body: right });
      expect(await call(url, 'x', { key, body: wrong })).toMatchObject({ status: 422, problem: 'mismatch' });
      expect(await call(url, 'x', { key, body: right })).toMatchObject({ isReplay: true, text: first.text });
      expect(count()).toBe(before + 1);
    }
  });

  test(`${adapter.name}: headers that carry credentials are replayed only where the route asks for them`, async () => {
    const secret = {
      'www-authenticate': 'Bearer realm="x"',
      'authentication-info': 'nextnonce="1"',
      authorization: 'Bearer s3cret',
      'x-auth-token': 's3cret',
      'x-session-id': 's3cret',
      'x-csrf-token': 's3cret',
      'x-api-key': 's3cret',
      'refresh-jwt': 's3cret',
      'set-cookie': 'session=s3cret',
    };
    const plain = { 'x-own': '1', 'x-author': 'ada', etag: '"7"', location: '/orders/7' };
    const reply = { status: 200, headers: { ...secret, ...plain }, body: 'signed in' };
    const never = await bench(adapter, () => reply);
    const asking = await bench(adapter, () => reply, { keepHeaders: ['X-Auth-Token', 'set-cookie'] });
    const key = randomUUID();
    for (const { url } of [never, asking]) {
      const { headers } = await call(url, 'x', { key });
      for (const [name, value] of Object.entries(reply.headers))
        expect([name, headers.get(name)]).toEqual([name, value]);
    }
    const again = await call(never.url, 'x', { key });
    expect(again).toMatchObject({ isReplay: true, text: 'signed in' });
    for (const name of Object.keys(secret)) expect([name, again.headers.get(name)]).toEqual([name, null]);
    for (const [name, value] of Object.entries(plain)) expect(again.headers.get(name)).toBe(value);
    const asked = (await call(asking.url, 'x', { key })).headers;
    expect([asked.get('x-auth-token'), asked.get('set-cookie'), asked.get('authorization')]).toEqual([
      's3cret',
      'session=s3cret',
      null,
    ]);
  });
});
