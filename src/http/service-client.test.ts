import { describe, expect, test } from 'vitest';
import type { OptionProblem } from '../kernel/check-options.ts';
import { isHoldfastError } from '../kernel/error.ts';
import type { HttpRequest } from './request-options.ts';
import { serviceClient } from './service-client.ts';

/** Nothing may be sent: every test here is about what is refused before. */
const fetch = (): never => {
  throw new Error('sent');
};

function problemsOf(error: unknown): readonly string[] {
  if (!isHoldfastError(error, 'INVALID_OPTIONS')) throw error;
  return error.details.problems.map((problem: OptionProblem) => problem.option);
}

function refusedClient(options: object): readonly string[] {
  try {
    serviceClient({ baseUrl: 'http://h', fetch, ...options });
  } catch (error) {
    return problemsOf(error);
  }
  return [];
}

async function refusedRequest(request: object): Promise<readonly string[]> {
  const client = serviceClient({ baseUrl: 'http://h', fetch, bearer: 'token-a', userHeader: 'X-User' });
  try {
    await client.request({ operation: 'read', path: '/', policy: { maxAttempts: 1 }, ...request });
  } catch (error) {
    return isHoldfastError(error, 'HTTP_NO_ANSWER') ? [] : problemsOf(error);
  }
  return ['sent'];
}

describe('options that cannot work', () => {
  test('of a client are refused at once, all of them [S0.5]', () => {
    const wrong = {
      baseUrl: 'h.example',
      bearer: 'a\nb',
      authScheme: 'two words',
      userHeader: 'x user',
      idempotencyHeader: 'idem',
      headers: { 'x-a': 'ok', 'x-b': 'a\r\nb' },
      policy: { maxAttempts: 0, timeoutMs: -1 },
      classify: 'retry',
      maxBodyBytes: 1.5,
      redirects: 'follow',
      newRequestId: 'id',
      fetch: {},
      retries: 3,
    };
    expect(refusedClient(wrong).toSorted()).toEqual(
      ['headers["x-b"]', ...Object.keys(wrong).filter((name) => name !== 'headers')].toSorted(),
    );
    expect(() => serviceClient({ baseUrl: 'http://h', policy: { maxAttempts: 0, timeoutMs: -1 } })).toThrow(
      /policy is an object; maxAttempts is 0.*timeoutMs is -1/,
    );
    expect(refusedClient({})).toEqual([]);
  });

  test('of a request are refused at once, all of them, and nothing is sent [S0.5]', async () => {
    const wrong = {
      operation: '',
      path: '/../x',
      method: 'FETCH',
      json: 1n,
      body: 'text',
      headers: { 'x-a': 'a\nb' },
      idempotencyKey: 'a b',
      requestId: '',
      user: 'a\r\nb',
      schema: {},
      read: 'xml',
      repeatable: 'yes',
      timeoutMs: 0,
      deadlineAt: Number.NaN,
      policy: { maxAttempts: -1 },
      retries: 1,
    };
    expect((await refusedRequest(wrong)).toSorted()).toEqual(
      ['headers["x-a"]', ...Object.keys(wrong).filter((name) => name !== 'headers')].toSorted(),
    );
    expect(await refusedRequest({})).toEqual([]);
  });

  test.each([
    'authorization',
    'Authorization',
    'x-request-id',
    'Idempotency-Key',
    'x-idempotency-key',
    'x-user',
    'host',
    'content-length',
    'transfer-encoding',
    'connection',
    'x-attempt',
    'bad name',
    '',
  ])('the header %j cannot be written by hand [S0.5]', async (name) => {
    expect(await refusedRequest({ headers: { [name]: 'x' } })).toHaveLength(1);
  });

  test.each(['a\r\nb: c', 'a\nb', 'a\0b', '\u{1F600}', ' a', 7, undefined])(
    'the header value %j is refused [S0.5]',
    async (value) => {
      expect(await refusedRequest({ headers: { 'x-a': value } })).toEqual(['headers["x-a"]']);
    },
  );

  test('headers that are no plain object are refused, authorization by hand is fine without a bearer [S0.5]', async () => {
    expect(await refusedRequest({ headers: new Headers({ a: 'b' }) })).toEqual(['headers']);
    expect(await refusedRequest({ headers: [['a', 'b']] })).toEqual(['headers']);
    expect(refusedClient({ headers: { authorization: 'Basic abc' } })).toEqual([]);
  });

  test('a body with GET or HEAD, and JSON that cannot be written, are refused [S0.5]', async () => {
    const cyclic: Record<string, unknown> = {};
    cyclic['self'] = cyclic;
    expect(await refusedRequest({ method: 'GET', json: {} })).toEqual(['method']);
    expect(await refusedRequest({ method: 'HEAD', body: 'x' })).toEqual(['method']);
    for (const json of [cyclic, { n: 1n }, () => {}]) expect(await refusedRequest({ json })).toEqual(['json']);
    expect(await refusedRequest({ json: null })).toEqual([]);
  });

  test('a request id of the caller that would break the header is refused, also from newRequestId [S0.5]', async () => {
    expect(await refusedRequest({ requestId: 'a\r\nb' })).toEqual(['requestId']);
    const client = serviceClient({ baseUrl: 'http://h', fetch, newRequestId: () => 'a\nb' });
    const request: HttpRequest = { operation: 'read', path: '/' };
    await expect(client.request(request)).rejects.toThrow(/newRequestId is a string of 3 characters/);
  });
});
