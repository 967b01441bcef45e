import { describe, expect, test } from 'vitest';
import { answerOf, type HttpMethod, type HttpRequest, serviceClient } from '../../src/http/index.ts';
import type { StandardSchema } from '../../src/kernel/standard-schema.ts';
import { serviceCallClassifier } from '../../src/retry/classifier.ts';
import type { Failure } from '../../src/retry/failure.ts';
import { fastWaits } from './fast-waits.ts';
import { keptLog } from './kept-log.ts';
import { deadUrl, sendJson, startService } from './local-service.ts';

const codeError = (code: string): Error => Object.assign(new Error('lookup failed'), { code });

/** How many requests a service saw that fails once with that status. */
async function requestsAfter(
  status: number,
  request: { method?: HttpMethod; idempotencyKey?: string; repeatable?: boolean },
): Promise<number> {
  await using service = await startService((_, response, i) => sendJson(response, i === 0 ? status : 200, {}));
  const client = serviceClient({ baseUrl: service.url, ...fastWaits().options });
  await client.request({ operation: 'act', path: '/', ...request }).catch(() => {});
  return service.seen.length;
}

describe('a request that must not be sent twice', () => {
  test.each(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'] as const)(
    '%s is repeated after a 500: twice is as once [S0.5]',
    async (method) => {
      expect(await requestsAfter(500, { method })).toBe(2);
    },
  );

  test.each(['POST', 'PATCH'] as const)(
    '%s is repeated after a 500 only with an idempotency key [S0.5]',
    async (method) => {
      expect(await requestsAfter(500, { method })).toBe(1);
      expect(await requestsAfter(503, { method })).toBe(1);
      expect(await requestsAfter(500, { method, idempotencyKey: 'k1' })).toBe(2);
    },
  );

  test.each([425, 429])(
    'POST without a key is repeated after a %i: the service says it did not act [S0.5]',
    async (status) => {
      expect(await requestsAfter(status, { method: 'POST' })).toBe(2);
    },
  );

  test('the caller may declare a POST repeatable, and a GET not [S0.5]', async () => {
    expect(await requestsAfter(500, { method: 'POST', repeatable: true })).toBe(2);
    expect(await requestsAfter(500, { method: 'GET', repeatable: false })).toBe(1);
  });

  test('a classifier that says "retry" does not make a POST without a key safe [S0.5]', async () => {
    await using service = await startService((_, response) => sendJson(response, 500, {}));
    const client = serviceClient({ baseUrl: service.url, classify: () => 'retry', ...fastWaits().options });
    await expect(client.request({ operation: 'act', path: '/', json: {} })).rejects.toMatchObject({
      code: 'HTTP_STATUS',
    });
    expect(service.seen).toHaveLength(1);
  });

  test('a body that is a stream is sent once, whatever the method and the failure [S0.5]', async () => {
    await using service = await startService((_, response) => sendJson(response, 429, {}));
    const { logger, lines } = keptLog();
    const body = (): ReadableStream<Uint8Array> => new Blob(['part one, ', 'part two']).stream();
    const act = { operation: 'upload', path: '/', method: 'PUT', idempotencyKey: 'k1' } as const;
    const client = serviceClient({ baseUrl: service.url, logger, ...fastWaits().options });
    const upload: unknown = await client.request({ ...act, body: body() }).catch((e: unknown) => e);
    expect(upload).toMatchObject({ details: { status: 429, notRepeated: 'stream-body' } });
    expect(String(upload)).toContain('not repeated: the body was a stream, which can be sent once');
    expect(service.seen.map((one) => one.body)).toEqual(['part one, part two']);
    expect(lines.at(-1)?.fields).toMatchObject({ reason: 'unsafe-replay', retryable: false });

    const unreachable = serviceClient({ baseUrl: await deadUrl(), ...fastWaits().options });
    await expect(unreachable.request({ ...act, body: body() })).rejects.toMatchObject({
      code: 'HTTP_NO_ANSWER',
      details: { problem: 'ECONNREFUSED', notRepeated: 'stream-body' },
      cause: { cause: { code: 'ECONNREFUSED' } },
    });
  });

  test('a POST without a key that failed says why it was not repeated, and keeps its answer [S0.5]', async () => {
    await using service = await startService((_, response) =>
      sendJson(response, 503, { why: 'busy' }, { 'retry-after': '7' }),
    );
    const client = serviceClient({ baseUrl: service.url, ...fastWaits().options });
    const failed = async (request: Partial<HttpRequest>): Promise<unknown> =>
      client.request({ operation: 'act', path: '/', json: {}, requestId: 'r1', ...request }).catch((e: unknown) => e);
    const error = await failed({});
    expect(error).toMatchObject({
      code: 'HTTP_STATUS',
      details: { operation: 'act', method: 'POST', status: 503, requestId: 'r1', notRepeated: 'unsafe-replay' },
    });
    const why = 'not repeated: a POST without idempotencyKey may have been acted on';
    expect(String(error)).toContain(why);
    // What is printed is the stack.
    expect((error as Error).stack).toContain(why);
    expect(answerOf(error)).toMatchObject({ status: 503, text: '{"why":"busy"}' });
    expect(serviceCallClassifier(error)).toMatchObject({ status: 503, hint: { afterMs: 7_000 } });
    expect(Object.keys(error as object)).not.toContain('headers');

    const declared = await failed({ repeatable: false, idempotencyKey: 'k1' });
    expect(declared).toMatchObject({ details: { notRepeated: 'declared' } });
    expect(String(declared)).toContain('not repeated: the request says repeatable: false, and may have been acted on');
  });

  test('a call that another reason ends says nothing of a repetition [S0.5]', async () => {
    await using service = await startService((_, response, i) => sendJson(response, i === 0 ? 404 : 503, {}));
    const { options } = fastWaits();
    const act = { operation: 'act', path: '/', json: {} };
    const client = serviceClient({ baseUrl: service.url, ...options });
    const missing: unknown = await client.request(act).catch((e: unknown) => e);
    expect(missing).toMatchObject({ code: 'HTTP_STATUS', details: { status: 404 } });
    const single: unknown = await client.request({ ...act, policy: { maxAttempts: 1 } }).catch((e: unknown) => e);
    expect(single).toMatchObject({ code: 'HTTP_STATUS', details: { status: 503 } });
    const out: unknown = await client.request({ ...act, idempotencyKey: 'k1' }).catch((e: unknown) => e);
    expect(out).toMatchObject({ code: 'RETRY_STOPPED', cause: { code: 'HTTP_STATUS' } });
    for (const error of [missing, single, (out as Error).cause]) {
      expect((error as { details: object }).details).not.toHaveProperty('notRepeated');
      expect(String(error)).not.toContain('not repeated');
    }
  });

  test('the reason is in the cause when an attempt before it could be repeated [S0.5]', async () => {
    await using service = await startService((_, response, i) => sendJson(response, i === 0 ? 429 : 500, {}));
    const client = serviceClient({ baseUrl: service.url, ...fastWaits().options });
    const error: unknown = await client.request({ operation: 'act', path: '/', json: {} }).catch((e: unknown) => e);
    expect(error).toMatchObject({
      code: 'RETRY_STOPPED',
      details: { reason: 'unsafe-replay', attempts: 2 },
      cause: { code: 'HTTP_STATUS', details: { status: 500, notRepeated: 'unsafe-replay' } },
    });
    expect(answerOf(error)).toMatchObject({ status: 500 });
  });

  test('bytes, forms and blobs are kept and sent again [S0.5]', async () => {
    await using service = await startService((_, response, i) => sendJson(response, i % 2 === 0 ? 503 : 200, {}));
    const client = serviceClient({ baseUrl: service.url, ...fastWaits().options });
    for (const body of [
      'text',
      new TextEncoder().encode('bytes'),
      new URLSearchParams({ a: '1' }),
      new Blob(['blob']),
    ]) {
      await client.request({ operation: 'upload', path: '/', method: 'PUT', body });
    }
    expect(service.seen.map((one) => one.body)).toEqual([
      'text',
      'text',
      'bytes',
      'bytes',
      'a=1',
      'a=1',
      'blob',
      'blob',
    ]);
  });

  test.each<[string, number]>([
    ['303', 429],
    ['303', 425],
    ['307', 429],
  ])('a %s that was followed ends what a %i says of the POST before it [S0.5]', async (status, after) => {
    await using service = await startService((request, response) => {
      if (request.url === '/made') return sendJson(response, after, {});
      response.writeHead(Number(status), { location: '/made' });
      response.end();
    });
    const client = serviceClient({ baseUrl: service.url, redirects: 'same-origin', ...fastWaits().options });
    const acting = client.request({ operation: 'act', path: '/', json: {} });
    await expect(acting).rejects.toMatchObject({ code: 'HTTP_STATUS', details: { status: after } });
    expect(service.seen.filter((one) => one.url === '/')).toHaveLength(1);
  });

  test('a connection refused after a followed 303 does not mean that the POST was not sent [S0.5]', async () => {
    let posts = 0;
    const redirecting: typeof fetch = async (_, init) => {
      if (init?.method !== 'POST') throw new TypeError('fetch failed', { cause: codeError('ECONNREFUSED') });
      posts++;
      return new Response(null, { status: 303, headers: { location: '/made' } });
    };
    const options = { baseUrl: 'http://service.example', fetch: redirecting, ...fastWaits().options };
    const acting = serviceClient({ ...options, redirects: 'same-origin' }).request({
      operation: 'act',
      path: '/',
      json: {},
    });
    await expect(acting).rejects.toMatchObject({ code: 'HTTP_NO_ANSWER', details: { problem: 'ECONNREFUSED' } });
    expect(posts).toBe(1);
  });

  test('a GET is still repeated after a followed redirect, and a POST with a key too [S0.5]', async () => {
    for (const request of [{}, { json: {}, idempotencyKey: 'k1' }]) {
      await using service = await startService((one, response, i) => {
        if (one.url === '/made') return sendJson(response, i === 1 ? 429 : 200, {});
        response.writeHead(303, { location: '/made' });
        response.end();
      });
      const client = serviceClient({ baseUrl: service.url, redirects: 'same-origin', ...fastWaits().options });
      expect(await client.request({ operation: 'act', path: '/', ...request })).toMatchObject({ attempts: 2 });
    }
  });

  test('a schema that throws ends the call, whatever code its error has [S0.2] [S0.5]', async () => {
    await using service = await startService((_, response) => sendJson(response, 200, { id: 1 }));
    const thrown = codeError('ECONNREFUSED');
    const schema: StandardSchema = {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: () => {
          throw thrown;
        },
      },
    };
    for (const classify of [undefined, (): 'retry' => 'retry']) {
      const client = serviceClient({ baseUrl: service.url, ...(classify ? { classify } : {}), ...fastWaits().options });
      const error: unknown = await client
        .request({ operation: 'act', path: '/', json: {}, schema })
        .catch((e: unknown) => e);
      expect(error).toMatchObject({
        code: 'HTTP_BODY_INVALID',
        details: { problem: 'the schema threw an error' },
        cause: thrown,
      });
      expect(answerOf(error)?.text).toBe('{"id":1}');
    }
    expect(service.seen).toHaveLength(2);
  });

  test('a classifier that calls a failure "refused" or "429" does not make a POST without a key safe [S0.5]', async () => {
    for (const facts of [{ code: 'ECONNREFUSED' }, { status: 429 }]) {
      await using service = await startService((_, response) => sendJson(response, 500, {}));
      const classify = (): Failure => ({ verdict: 'retry', kind: 'network', ...facts });
      const client = serviceClient({ baseUrl: service.url, classify, ...fastWaits().options });
      await expect(client.request({ operation: 'act', path: '/', json: {} })).rejects.toMatchObject({
        code: 'HTTP_STATUS',
      });
      expect(service.seen).toHaveLength(1);
    }
  });

  test('a POST that was never sent because its token could not be had is tried again [S0.5]', async () => {
    await using service = await startService((_, response) => sendJson(response, 200, {}));
    let asked = 0;
    const bearer = (): string => {
      if (++asked === 1) throw codeError('ECONNRESET');
      return 'token-a';
    };
    const client = serviceClient({ baseUrl: service.url, bearer, ...fastWaits().options });
    expect(await client.request({ operation: 'act', path: '/', json: {} })).toMatchObject({ attempts: 2 });
    expect(service.seen).toHaveLength(1);
  });

  test('a POST whose token comes after its attempt was given up is not sent any more [S0.5]', async () => {
    await using service = await startService((_, response) => sendJson(response, 200, {}));
    const { options, time, attemptsStarted } = fastWaits();
    let giveToken!: (token: string) => void;
    const late = new Promise<string>((resolve) => (giveToken = resolve));
    let asked = 0;
    const bearer = async (): Promise<string> => {
      if (++asked === 1) return late;
      giveToken('token-late');
      await late;
      return 'token-new';
    };
    // Deaf to the signal, which would keep fetch itself from sending.
    const deaf: typeof fetch = (url, init) => fetch(url, { ...init, signal: null });
    const client = serviceClient({ baseUrl: service.url, bearer, fetch: deaf, ...options });
    const acting = client.request({ operation: 'act', path: '/', json: {} });
    await attemptsStarted(1);
    await time.advance(10_000);
    expect(await acting).toMatchObject({ attempts: 2 });
    expect(service.seen.map((one) => one.headers.authorization)).toEqual(['Bearer token-new']);
  });
});
