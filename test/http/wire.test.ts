import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { answerOf, serviceClient } from '../../src/http/index.ts';
import { idempotencyKey } from '../../src/kernel/idempotency-key.ts';
import { retryBudget } from '../../src/retry/budget.ts';
import { eventHandler } from '../../src/retry/policies.ts';
import { virtualTime } from '../../src/testing/virtual-time.ts';
import { fastWaits } from './fast-waits.ts';
import { keptLog } from './kept-log.ts';
import { sendJson, startService } from './local-service.ts';

const KEY = idempotencyKey({
  domain: 'service',
  userId: 'user_123',
  entityId: 'interview',
  operation: 'configure',
  version: 'session_abc',
});

/** A response that comes, or fails to come, when the test says so. */
class LaterResponse {
  resolve!: (response: Response) => void;
  reject!: (error: Error) => void;
  readonly promise = new Promise<Response>((resolve, reject) => Object.assign(this, { resolve, reject }));
}

describe('what goes over the wire', () => {
  test('token, request id, idempotency key and user are sent as headers, JSON as the body [S0.5]', async () => {
    await using service = await startService((_, response) => sendJson(response, 200, { ok: true }));
    const client = serviceClient({ baseUrl: `${service.url}/api/`, bearer: 'token-a', newRequestId: () => 'req-1' });
    const result = await client.request({
      operation: 'configure',
      path: '/sessions',
      query: { dry: true, tag: ['a b', 'c&d'], none: undefined },
      json: { name: 'Zoë' },
      idempotencyKey: KEY,
      user: 'user_123',
    });
    expect(result).toMatchObject({ status: 200, data: { ok: true }, requestId: 'req-1', attempts: 1 });
    expect(service.seen).toMatchObject([
      {
        method: 'POST',
        url: '/api/sessions?dry=true&tag=a+b&tag=c%26d',
        headers: {
          authorization: 'Bearer token-a',
          'x-request-id': 'req-1',
          'idempotency-key': 'service:user_123:interview:configure:session_abc',
          'x-user-id': 'user_123',
          'content-type': 'application/json',
          accept: 'application/json',
          'x-attempt': '1',
          'x-timeout-ms': '10000',
        },
        body: '{"name":"Zoë"}',
      },
    ]);
  });

  test('a client without a token, a user or a key sends none of their headers [S0.5]', async () => {
    await using service = await startService((_, response) => sendJson(response, 200, null));
    await serviceClient({ baseUrl: service.url }).request({ operation: 'list', path: 'things' });
    const names = Object.keys(service.seen[0]?.headers ?? {});
    expect(names).toContain('x-request-id');
    expect(names.filter((name) => ['authorization', 'idempotency-key', 'x-user-id'].includes(name))).toEqual([]);
  });

  test('the token from A2A_ALLOWED_KEY and the user header x-growqr-user arrive [S0.6b]', async () => {
    await using service = await startService((_, response) => sendJson(response, 200, {}));
    const env: NodeJS.ProcessEnv = { A2A_ALLOWED_KEY: 'key-from-env' };
    const settings = { baseUrl: service.url, bearer: env['A2A_ALLOWED_KEY'], userHeader: 'X-GrowQR-User' };
    const client = serviceClient({ ...settings, idempotencyHeader: 'x-idempotency-key' });
    await client.request({ operation: 'start', path: '/missions', json: {}, user: 'user_123', idempotencyKey: KEY });
    expect(service.seen[0]?.headers).toMatchObject({
      authorization: 'Bearer key-from-env',
      'x-growqr-user': 'user_123',
      'x-idempotency-key': KEY,
    });
  });

  test('all attempts carry the same request id, key and body, and count themselves [S0.5]', async () => {
    await using service = await startService((_, response, i) => sendJson(response, i < 2 ? 503 : 200, { i }));
    const { options, waits } = fastWaits();
    const client = serviceClient({ baseUrl: service.url, ...options });
    const json = { amount: 5 };
    const pending = client.request({ operation: 'pay', path: '/pay', json, idempotencyKey: KEY });
    // The bytes were made before the first attempt.
    json.amount = 500;
    const result = await pending;
    expect(result).toMatchObject({ data: { i: 2 }, attempts: 3 });
    expect(waits).toEqual([125, 250]);
    const { headers } = service.seen[0] ?? {};
    expect(service.seen.map((one) => one.body)).toEqual(['{"amount":5}', '{"amount":5}', '{"amount":5}']);
    for (const name of ['x-request-id', 'idempotency-key']) {
      expect(service.seen.map((one) => one.headers[name])).toEqual([headers?.[name], headers?.[name], headers?.[name]]);
    }
    expect(service.seen.map((one) => one.headers['x-attempt'])).toEqual(['1', '2', '3']);
  });

  test('a token function is asked before each attempt, so a renewed token is used at once [S0.5]', async () => {
    await using service = await startService((_, response, i) => sendJson(response, i === 0 ? 503 : 200, {}));
    let renewed = 0;
    const bearer = async (): Promise<string> => `token-${++renewed}`;
    const client = serviceClient({ baseUrl: service.url, bearer, ...fastWaits().options });
    await client.request({ operation: 'read', path: '/' });
    expect(service.seen.map((one) => one.headers.authorization)).toEqual(['Bearer token-1', 'Bearer token-2']);
  });

  test('the remaining time of the deadline is sent when it is shorter than the attempt may take [S0.5]', async () => {
    await using service = await startService((_, response) => sendJson(response, 200, {}));
    const { options, time } = fastWaits();
    const client = serviceClient({ baseUrl: service.url, ...options });
    await client.request({ operation: 'read', path: '/', deadlineAt: time.now().wallMs + 4_321 });
    await client.request({ operation: 'read', path: '/', timeoutMs: Infinity });
    expect(service.seen.map((one) => one.headers['x-timeout-ms'])).toEqual(['4321', undefined]);
  });

  test('a policy without a bound of its own is bounded by ten seconds [S0.1] [S0.6]', async () => {
    await using service = await startService((_, response) => sendJson(response, 200, {}));
    await serviceClient({ baseUrl: service.url, policy: eventHandler }).request({ operation: 'read', path: '/' });
    expect(service.seen[0]?.headers['x-timeout-ms']).toBe('10000');
  });

  test('good, failed and unread answers one after the other use one connection [S0.5]', async () => {
    await using service = await startService((_, response, i) => sendJson(response, i % 2 === 0 ? 200 : 503, { i }));
    const client = serviceClient({ baseUrl: service.url, policy: { maxAttempts: 1 } });
    for (const read of ['json', 'text', 'nothing', 'json'] as const) {
      await client.request({ operation: 'read', path: '/', read }).catch(() => {});
      // Node's fetch takes a connection back one turn after the body has ended.
      await setImmediate();
    }
    expect(service.seen).toHaveLength(4);
    expect(service.sockets).toHaveLength(1);
  });
});

describe('retries of a request', () => {
  test.each([408, 425, 429, 500, 502, 503, 504])(
    '%i is answered with another attempt [S0.2] [S0.5]',
    async (status) => {
      await using service = await startService((_, response, i) => sendJson(response, i === 0 ? status : 200, {}));
      const client = serviceClient({ baseUrl: service.url, ...fastWaits().options });
      expect((await client.request({ operation: 'read', path: '/' })).attempts).toBe(2);
    },
  );

  test.each([400, 401, 403, 404, 409, 422])('%i is never asked for again [S0.2] [S0.5]', async (status) => {
    await using service = await startService((_, response) => sendJson(response, status, { why: 'no' }));
    const client = serviceClient({ baseUrl: service.url, ...fastWaits().options });
    const failing = client.request({ operation: 'read', path: '/x', query: { secret: 'q' }, requestId: 'req-9' });
    await expect(failing).rejects.toMatchObject({
      code: 'HTTP_STATUS',
      details: { operation: 'read', method: 'GET', url: `${service.url}/x`, status, requestId: 'req-9' },
    });
    expect(service.seen).toHaveLength(1);
  });

  test('Retry-After is waited for, in seconds and as a date by the clock of the service [S0.5]', async () => {
    const hints = [
      { 'retry-after': '7' },
      { date: 'Thu, 01 Jan 2026 00:00:00 GMT', 'retry-after': 'Thu, 01 Jan 2026 00:00:20 GMT' },
    ];
    await using service = await startService((_, response, i) => sendJson(response, i < 2 ? 429 : 200, {}, hints[i]));
    const { options, waits } = fastWaits();
    await serviceClient({ baseUrl: service.url, ...options }).request({ operation: 'read', path: '/' });
    expect(waits).toEqual([7_000, 20_000]);
  });

  test('when attempts run out the last answer is the cause and can be looked at [S0.5]', async () => {
    await using service = await startService((_, response, i) => sendJson(response, 503, { try: i + 1 }));
    const client = serviceClient({ baseUrl: service.url, ...fastWaits().options });
    const error: unknown = await client.request({ operation: 'read', path: '/' }).catch((e: unknown) => e);
    expect(error).toMatchObject({
      code: 'RETRY_STOPPED',
      details: { reason: 'attempts', attempts: 3 },
      cause: { code: 'HTTP_STATUS', details: { status: 503 } },
    });
    expect(answerOf(error)).toMatchObject({ status: 503, text: '{"try":3}' });
  });

  test('a classifier for one call or for the whole client can overrule the table [S0.2]', async () => {
    await using service = await startService((_, response) => sendJson(response, 404, {}));
    const { options } = fastWaits();
    const retry404 = (error: unknown): 'retry' | undefined =>
      (error as { status?: number }).status === 404 ? 'retry' : undefined;
    const client = serviceClient({ baseUrl: service.url, classify: retry404, ...options });
    await expect(client.request({ operation: 'read', path: '/' })).rejects.toThrow(/gave up after 3 attempts/);
    await expect(client.request({ operation: 'read', path: '/', classify: () => 'fail' })).rejects.toThrow(
      /answered 404/,
    );
    expect(service.seen).toHaveLength(4);
  });

  test('a retry budget shared by the client stops further attempts [S0.5]', async () => {
    await using service = await startService((_, response) => sendJson(response, 503, {}));
    const { options } = fastWaits();
    const budget = retryBudget({ ratio: 0, perSecond: 0, capacity: 1, effects: options.effects });
    const client = serviceClient({ baseUrl: service.url, budget, ...options });
    const stopped = { code: 'RETRY_STOPPED', details: { reason: 'shared-budget' } };
    await expect(client.request({ operation: 'read', path: '/' })).rejects.toMatchObject(stopped);
    expect(service.seen).toHaveLength(2);
  });
});

describe('the log of a request', () => {
  test('each attempt is a line with operation, attempt, latency, status, error class and the ids it knows [S0.5] [S0.12]', async () => {
    await using service = await startService((_, response, i) => sendJson(response, i === 0 ? 503 : 201, {}));
    const { logger, lines } = keptLog();
    const client = serviceClient({
      baseUrl: service.url,
      logger,
      logFields: { orgId: 'org_1' },
      ...fastWaits().options,
    });
    const ids = { requestId: 'req-7', user: 'user_123', idempotencyKey: KEY, logFields: { runId: 'run_4' } };
    await client.request({ operation: 'start', path: '/runs', json: {}, ...ids });
    const known = {
      operation: 'start',
      method: 'POST',
      requestId: 'req-7',
      userId: 'user_123',
      orgId: 'org_1',
      runId: 'run_4',
      idempotencyKey: KEY,
      maxAttempts: 3,
    };
    const failure = { retryable: true, errorKind: 'overload', errorCode: 'HTTP_STATUS', httpStatus: 503 };
    expect(lines).toMatchObject([
      {
        level: 'warn',
        message: 'attempt failed',
        fields: { ...known, ...failure, attempt: 1, latencyMs: 0, errorClass: 'HoldfastError' },
      },
      { level: 'warn', fields: { ...known, ...failure, attempt: 1, delayMs: 125 } },
      {
        level: 'debug',
        message: 'attempt succeeded',
        fields: { ...known, attempt: 2, httpStatus: 201, resendCount: 1, latencyMs: 0 },
      },
    ]);
    expect(lines[0]?.fields).not.toHaveProperty('resendCount');
  });

  test('a broken token is one attempt, logged as not retryable [S0.5] [S0.12]', async () => {
    await using service = await startService((_, response) => sendJson(response, 401, {}));
    const { logger, lines } = keptLog();
    const client = serviceClient({ baseUrl: service.url, logger, bearer: 'stale-token' });
    await expect(client.request({ operation: 'provision', path: '/' })).rejects.toMatchObject({
      details: { status: 401 },
    });
    expect(lines.map((line) => line.message)).toEqual(['attempt failed', 'operation gave up']);
    expect(lines[0]?.fields).toMatchObject({ attempt: 1, httpStatus: 401, retryable: false, errorKind: 'auth' });
  });

  test('an answer that comes after its attempt was given up is not logged for the next one [S0.5] [S0.12]', async () => {
    const { logger, lines } = keptLog();
    const { options, time, attemptsStarted } = fastWaits();
    const answers = [new LaterResponse(), new LaterResponse()];
    let sent = 0;
    // Deaf to its signal, as some libraries that stand in for fetch are.
    const deaf: typeof fetch = () => answers[sent++]?.promise ?? Promise.reject(new Error('sent too often'));
    const client = serviceClient({ baseUrl: 'http://h', fetch: deaf, logger, policy: { maxAttempts: 2 }, ...options });
    const failing = client.request({ operation: 'read', path: '/' }).catch((e: unknown) => e);
    await attemptsStarted(1);
    await time.advance(10_000);
    await attemptsStarted(2);
    answers[0]?.resolve(Response.json({}, { status: 201 }));
    await setImmediate();
    answers[1]?.reject(Object.assign(new Error('reset'), { code: 'ECONNRESET' }));
    expect(await failing).toMatchObject({ code: 'RETRY_STOPPED' });
    expect(lines.length).toBeGreaterThan(3);
    for (const line of lines) expect(line.fields).not.toHaveProperty('httpStatus');
  });

  test('an answer that comes while the next attempt is waited for is not logged either [S0.5] [S0.12]', async () => {
    const { logger, lines } = keptLog();
    const late = new LaterResponse();
    const time = virtualTime();
    const stop = new AbortController();
    const options = { baseUrl: 'http://h', fetch: () => late.promise, logger, effects: time };
    const failing = serviceClient(options)
      .request({ operation: 'read', path: '/', signal: stop.signal })
      .catch((e: unknown) => e);
    await setImmediate();
    await time.advance(10_000);
    late.resolve(Response.json({}, { status: 201 }));
    await setImmediate();
    stop.abort('enough');
    expect(await failing).toBe('enough');
    expect(lines.map((line) => line.message)).toContain('operation aborted');
    for (const line of lines) expect(line.fields).not.toHaveProperty('httpStatus');
  });
});
