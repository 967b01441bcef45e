import { describe, expect, test } from 'vitest';
import type { OptionProblem } from '../kernel/check-options.ts';
import { isHoldfastError } from '../kernel/error.ts';
import { codingAgent } from './coding-agent.ts';
import { gitHost } from './git-host.ts';
import { llm } from './llm.ts';
import { probeHealth } from './probe-health.ts';
import { productService } from './product-service.ts';
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

/** What is said of the options that cannot work. */
async function messageOf(call: () => unknown): Promise<string> {
  const error: unknown = await Promise.resolve()
    .then(call)
    .catch((e: unknown) => e);
  if (!isHoldfastError(error, 'INVALID_OPTIONS')) throw new Error('not refused', { cause: error });
  return error.message;
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

/** The options that are named by themselves, not by what is in them. */
function othersIn(wrong: object): readonly string[] {
  return Object.keys(wrong).filter((name) => name !== 'headers' && name !== 'policy');
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
      ['headers["x-b"]', 'policy.maxAttempts', 'policy.timeoutMs', ...othersIn(wrong)].toSorted(),
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
      ['headers["x-a"]', 'policy.maxAttempts', ...othersIn(wrong)].toSorted(),
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

  test.each<[string, unknown]>([
    ['an object', { a: 1 }],
    ['an array', [1, 2]],
    ['a Map', new Map([['a', 1]])],
    ['a Date', new Date(0)],
    ['a number', 5],
    ['true', true],
    ['null', null],
    ['a Response', new Response('x')],
  ])('a body that is %s would be sent as its name, so it is refused [S0.5]', async (_, body) => {
    expect(await refusedRequest({ body })).toEqual(['body']);
    const client = serviceClient({ baseUrl: 'http://h', fetch });
    const call = (): unknown => client.request({ operation: 'send', path: '/', body: body as never });
    expect(await messageOf(call)).toMatch(/; write json: … to send a value as JSON; /);
  });

  test('every kind of body that fetch sends as it is stays allowed [S0.5]', async () => {
    async function* chunks(): AsyncGenerator<Uint8Array> {}
    const bodies: readonly unknown[] = [
      '',
      new ArrayBuffer(1),
      new Uint8Array(1),
      new DataView(new ArrayBuffer(1)),
      new Blob(['x']),
      new File(['x'], 'x.txt'),
      new FormData(),
      new URLSearchParams(),
      new ReadableStream(),
      chunks(),
    ];
    for (const body of bodies) expect(await refusedRequest({ body })).toEqual([]);
  });

  test.each(['Bearer abc', 'bearer  abc', 'BEARER\tabc', 'Basic abc', 'token abc'])(
    'the token %j has a scheme in front of it and is refused, not sent twice over [S0.5]',
    async (token) => {
      const says = /write the token alone; the word before it comes from authScheme, which is Bearer/;
      const plain = await messageOf(() => serviceClient({ baseUrl: 'http://h', fetch, bearer: token }));
      expect(plain).toMatch(says);
      expect(plain).not.toContain('abc');
      const client = serviceClient({ baseUrl: 'http://h', fetch, bearer: () => token });
      const later = await messageOf(() => client.request({ operation: 'read', path: '/' }));
      expect(later).toMatch(says);
      expect(later).not.toContain('abc');
    },
  );

  test('a token that repeats a scheme of the caller is refused, one that only begins like it is sent [S0.5]', () => {
    expect(refusedClient({ authScheme: 'ApiKey', bearer: 'apikey abc' })).toEqual(['bearer']);
    for (const bearer of ['Bearer-abc', 'bearerabc', 'tokenabc']) expect(refusedClient({ bearer })).toEqual([]);
    expect(refusedClient({ authScheme: 'Digest', bearer: 'username="a", realm="b"' })).toEqual([]);
  });

  test('a word that cannot be a secret is shown, with the words there are [S0.5]', async () => {
    const client = serviceClient({ baseUrl: 'http://h', fetch });
    const read = { operation: 'read', path: '/' };
    const wrong = { ...read, method: 'post' as never, read: 'xml' as never };
    expect(await messageOf(() => client.request(wrong))).toMatch(
      /method is "post"; write 'GET', .*'POST' or 'PATCH'.*read is "xml"; write 'json', 'text' or 'nothing'/,
    );
    const options = { baseUrl: 'http://h', redirects: 'follow' as never, idempotencyHeader: 'idem' as never };
    expect(await messageOf(() => serviceClient(options))).toMatch(
      /idempotencyHeader is "idem"; .*redirects is "follow"; write 'refuse' or 'same-origin'/,
    );
  });

  test.each([
    ['https://pat:secret-1@api.example:8443/v1', 'a URL of https://api.example:8443'],
    ['https://api.example/v1?key=secret-1', 'a URL of https://api.example'],
    ['https://api.example/secret-1#top', 'a URL of https://api.example'],
    ['postgres://pat:secret-1@db.example:5432/x', 'a URL of postgres://db.example:5432'],
    ['localhost:3000', 'a string of 14 characters'],
    ['secret-1', 'a string of 8 characters'],
  ])('of the baseUrl %j no more than the host is shown [S0.5]', async (baseUrl, found) => {
    const message = await messageOf(() => serviceClient({ baseUrl }));
    expect(message).toContain(`baseUrl is ${found};`);
    expect(message).not.toContain('secret-1');
    if (URL.canParse(baseUrl))
      expect(await messageOf(() => serviceClient({ baseUrl: new URL(baseUrl) }))).not.toContain('secret-1');
  });

  test('a request id of the caller that would break the header is refused, also from newRequestId [S0.5]', async () => {
    expect(await refusedRequest({ requestId: 'a\r\nb' })).toEqual(['requestId']);
    const client = serviceClient({ baseUrl: 'http://h', fetch, newRequestId: () => 'a\nb' });
    const request: HttpRequest = { operation: 'read', path: '/' };
    await expect(client.request(request)).rejects.toThrow(/newRequestId is a string of 3 characters/);
  });

  test.each([undefined, null, 7, 'http://h'])('no options at all (%j) are refused by name [S0.5]', async (none) => {
    const missing = none as never;
    const client = serviceClient({ baseUrl: 'http://h', fetch });
    const agent = codingAgent({ baseUrl: 'http://h', fetch });
    const git = gitHost({ baseUrl: 'http://h', token: 'token-a', fetch });
    const calls: readonly (() => unknown)[] = [
      () => serviceClient(missing),
      () => llm(missing),
      () => gitHost(missing),
      () => codingAgent(missing),
      () => productService(missing),
      () => client.request(missing),
      () => client.find(missing),
      () => client.createIfAbsent(missing),
      () => llm({ baseUrl: 'http://h', fetch }).chat(missing),
      () => agent.createSession(missing),
      () => agent.sendMessage(missing),
      () => git.ensureUser(missing),
      () => git.ensureRepo(missing),
      () => git.ensureFile(missing),
    ];
    for (const call of calls) {
      const error: unknown = await Promise.resolve()
        .then(call)
        .catch((e: unknown) => e);
      expect(error, String(call)).toMatchObject({ code: 'INVALID_OPTIONS' });
    }
    await expect(probeHealth(client, (none ?? null) as never)).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
    await expect(probeHealth(missing)).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
  });

  test('a timeout above the time for all attempts is refused, wherever the two come from [S0.5]', async () => {
    const policy = { maxElapsedMs: 1_000 };
    const client = serviceClient({ baseUrl: 'http://h', fetch, policy });
    const late = client.request({ operation: 'read', path: '/', timeoutMs: 60_000 });
    await expect(late).rejects.toThrow(/timeoutMs is 60000; make it at most the policy's maxElapsedMs, which is 1000/);
    expect(await refusedRequest({ policy: { maxAttempts: 1, maxElapsedMs: 1_000 }, timeoutMs: 1_001 })).toEqual([
      'timeoutMs',
    ]);
    for (const timeoutMs of [1_000, Infinity]) {
      expect(await refusedRequest({ policy: { maxAttempts: 1, maxElapsedMs: 1_000 }, timeoutMs })).toEqual([]);
    }
    expect(() => codingAgent({ baseUrl: 'http://h', policy, messageTimeoutMs: 1_001 })).toThrow(/messageTimeoutMs/);
  });

  test('default timeouts fit themselves into the time for all attempts [S0.5]', async () => {
    const sent: string[] = [];
    const answer: typeof globalThis.fetch = async (_, init) => {
      sent.push(new Headers(init?.headers).get('x-timeout-ms') ?? '');
      return Response.json({ choices: [{ message: { content: 'hi' } }] });
    };
    const policy = { maxElapsedMs: 1_000, timeoutMs: Infinity };
    const options = { baseUrl: 'http://h', fetch: answer, policy };
    await serviceClient(options).request({ operation: 'read', path: '/' });
    await llm(options).chat({ model: 'm', messages: [] });
    await codingAgent(options).sendMessage({ sessionId: 's', text: 't', idempotencyKey: 'k' });
    await probeHealth(serviceClient({ baseUrl: 'http://h', fetch: answer }), { policy });
    expect(sent).toEqual(['1000', '1000', '1000', '1000']);
  });

  test('of a create-if-absent are refused before anything is sent [S0.5]', async () => {
    const sent: unknown[] = [];
    const conflict: typeof globalThis.fetch = async (url) => {
      sent.push(url);
      return new Response(null, { status: 409 });
    };
    const client = serviceClient({ baseUrl: 'http://h', fetch: conflict });
    const create = { operation: 'create', path: '/things', json: {} };
    for (const [wrong, option] of [
      [{ existing: { path: '//evil.example' } }, 'existing.path'],
      [{ existing: { path: 7 } }, 'existing.path'],
      [{ existing: { path: '/a', quary: {} } }, 'existing.quary'],
      [{ existing: '/things/a' }, 'existing'],
      [{ conflicts: 409 }, 'conflicts'],
      [{ conflicts: ['409'] }, 'conflicts'],
    ] as const) {
      const error: unknown = await client.createIfAbsent({ ...create, ...(wrong as object) }).catch((e: unknown) => e);
      expect(problemsOf(error)).toEqual([option]);
    }
    expect(sent).toEqual([]);
  });
});
