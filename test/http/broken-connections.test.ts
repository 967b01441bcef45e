import type { Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import {
  answerOf,
  codingAgent,
  gitHost,
  type HttpRequest,
  productService,
  serviceClient,
  type ServiceClientOptions,
} from '../../src/http/index.ts';
import { HoldfastError } from '../../src/kernel/error.ts';
import { serviceCallClassifier } from '../../src/retry/classifier.ts';
import { fastWaits } from './fast-waits.ts';
import { keptLog } from './kept-log.ts';
import { closing, deadUrl, sendJson, startService, startSocketService } from './local-service.ts';

type Options = Pick<ServiceClientOptions, 'effects' | 'observe' | 'policy'>;

const READ: HttpRequest = { operation: 'read', path: '/', timeoutMs: 3_000 };
const GOOD = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n';

/** A promise for each of the first requests, resolved when the service has got it. */
function arrivals(count: number): { readonly note: (index: number) => void; readonly each: readonly Promise<void>[] } {
  const notes: (() => void)[] = [];
  const each = Array.from({ length: count }, (_, i) => new Promise<void>((resolve) => (notes[i] = resolve)));
  return { note: (index) => notes[index]?.(), each };
}

describe('a service that does not answer', () => {
  test('one that accepts and says nothing ends each attempt at its timeout, and its connection is closed [S0.1] [S0.5] [S0.6]', async () => {
    const { note, each } = arrivals(2);
    await using service = await startSocketService((_, i) => note(i));
    const { options, time } = fastWaits();
    const { logger, lines } = keptLog();
    const client = serviceClient({ baseUrl: service.url, policy: { maxAttempts: 2 }, logger, ...options });
    const failing = client.request(READ).catch((error: unknown) => error);
    for (const [i, arrived] of each.entries()) {
      await arrived;
      await time.advance(3_000);
      await closing(service.sockets[i]);
    }
    expect(await failing).toMatchObject({
      code: 'RETRY_STOPPED',
      details: { attempts: 2 },
      cause: {
        code: 'HTTP_NO_ANSWER',
        details: {
          operation: 'read',
          method: 'GET',
          url: `${service.url}/`,
          problem: 'ATTEMPT_TIMEOUT',
          timeoutMs: 3_000,
        },
        cause: { code: 'ATTEMPT_TIMEOUT', details: { timeoutMs: 3_000, attempt: 2 } },
      },
    });
    const messages = ['attempt failed', 'waiting before the next attempt', 'attempt failed', 'operation gave up'];
    expect(lines.map((line) => line.message)).toEqual(messages);
    expect(lines[0]?.fields).toMatchObject({ errorKind: 'timeout', latencyMs: 3_000, retryable: true });
    expect(time.pendingTimers).toBe(0);
  });

  test('a timeout names the address, the request id and the option to raise, and stays worth a retry [S0.2] [S0.5]', async () => {
    const { note, each } = arrivals(1);
    await using service = await startSocketService((_, i) => note(i));
    const { options, time } = fastWaits();
    const failing = serviceClient({ baseUrl: service.url, ...options })
      .request({ operation: 'pay', path: '/pay', json: {}, requestId: 'r1', timeoutMs: 3_000, query: { q: 'hidden' } })
      .catch((error: unknown) => error);
    await each[0];
    await time.advance(3_000);
    const error = await failing;
    expect(String(error)).toBe(
      `HoldfastError: "pay" (POST ${service.url}/pay) got no complete answer within 3000 ms; ` +
        'not repeated: a POST without idempotencyKey may have been acted on; ' +
        'raise timeoutMs if the service is known to be that slow; the request id was r1',
    );
    expect(error).toMatchObject({
      details: { requestId: 'r1', notRepeated: 'unsafe-replay' },
      cause: { code: 'ATTEMPT_TIMEOUT' },
    });
    expect(serviceCallClassifier(error)).toMatchObject({ verdict: 'retry', kind: 'timeout', code: 'ATTEMPT_TIMEOUT' });
  });

  test('a timeout inside the function that gives the token is thrown as it is [S0.5]', async () => {
    const inner = new HoldfastError('ATTEMPT_TIMEOUT', { operation: 'token', attempt: 1, timeoutMs: 5 });
    const bearer = (): string => {
      throw inner;
    };
    const client = serviceClient({ baseUrl: 'http://h', bearer, policy: { maxAttempts: 1 } });
    await expect(client.request(READ)).rejects.toBe(inner);
  });

  test.each<[string, (baseUrl: string, options: Options) => Promise<unknown>]>([
    [
      'product',
      (baseUrl, options) =>
        productService({ name: 'p', baseUrl, endpoints: { a: { path: '/a' } }, ...options }).call('a'),
    ],
    [
      'Git host',
      (baseUrl, options) => gitHost({ baseUrl, token: 't', ...options }).ensureRepo({ owner: 'o', name: 'n' }),
    ],
    ['coding agent', (baseUrl, options) => codingAgent({ baseUrl, ...options }).createSession({ idempotencyKey: 'k' })],
  ])('a %s call is bounded when nothing is said [S0.6]', async (_, call) => {
    const { note, each } = arrivals(1);
    await using service = await startSocketService((_socket, i) => note(i));
    const { options, time } = fastWaits();
    const failing = call(service.url, { ...options, policy: { maxAttempts: 1 } }).catch((error: unknown) => error);
    await each[0];
    await time.advance(10_000);
    expect(await failing).toMatchObject({ code: 'HTTP_NO_ANSWER', details: { timeoutMs: 10_000 } });
    await closing(service.sockets[0]);
  });

  test('one that stops in the middle of the body ends the attempt at its timeout, and the next one succeeds [S0.1] [S0.5]', async () => {
    const { note, each } = arrivals(2);
    await using service = await startService((_, response, i) => {
      if (i > 0) return sendJson(response, 200, { whole: true });
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write('{"who', () => note(0));
    });
    const { options, time } = fastWaits();
    const { logger, lines } = keptLog();
    const pending = serviceClient({ baseUrl: service.url, logger, ...options }).request(READ);
    await each[0];
    // The head has arrived as well, or the attempt ends before it: both are a timeout.
    await time.advance(3_000);
    await closing(service.sockets[0]);
    expect(await pending).toMatchObject({ data: { whole: true }, attempts: 2 });
    expect(lines.filter((line) => line.message.includes('abandoned'))).toEqual([]);
  });

  test('no listener is a network error with its code, retried for a POST without a key too: nothing was sent [S0.2] [S0.5]', async () => {
    const baseUrl = await deadUrl();
    const { options, waits } = fastWaits();
    const { logger, lines } = keptLog();
    const client = serviceClient({ baseUrl, logger, ...options });
    await expect(client.request({ operation: 'send', path: '/x', json: {}, requestId: 'r1' })).rejects.toMatchObject({
      code: 'RETRY_STOPPED',
      cause: {
        code: 'HTTP_NO_ANSWER',
        details: { operation: 'send', method: 'POST', url: `${baseUrl}/x`, requestId: 'r1', problem: 'ECONNREFUSED' },
      },
    });
    expect(waits).toHaveLength(2);
    expect(lines[0]?.fields).toMatchObject({ errorKind: 'network', errorCode: 'ECONNREFUSED' });
    expect(lines[0]?.fields).not.toHaveProperty('httpStatus');
  });
});

describe('a connection that breaks', () => {
  const cuts: readonly (readonly [string, (socket: Socket) => void])[] = [
    ['in the middle of the headers', (socket) => socket.end(`${GOOD}content-le`)],
    ['by a reset', (socket) => socket.resetAndDestroy()],
    ['before the announced length', (socket) => socket.end(`${GOOD}content-length: 100\r\n\r\n{"half":`)],
    ['in the middle of the chunks', (socket) => socket.end(`${GOOD}transfer-encoding: chunked\r\n\r\n5\r\n{"a":\r\n`)],
  ];

  test.each(cuts)('%s is a failed attempt, and the next one succeeds [S0.2] [S0.5]', async (_, cut) => {
    await using service = await startSocketService((socket, i) => {
      if (i === 0) cut(socket);
      else socket.end(`${GOOD}content-length: 14\r\n\r\n{"whole":true}`);
    });
    const client = serviceClient({ baseUrl: service.url, ...fastWaits().options });
    expect(await client.request(READ)).toMatchObject({ data: { whole: true }, attempts: 2 });
  });

  test.each(cuts)('%s is not repeated for a POST without a key: it may have been acted on [S0.5]', async (_, cut) => {
    await using service = await startSocketService(cut);
    const { logger, lines } = keptLog();
    const client = serviceClient({ baseUrl: service.url, logger, ...fastWaits().options });
    await expect(client.request({ ...READ, json: {} })).rejects.toMatchObject({ code: 'HTTP_NO_ANSWER' });
    expect(service.seen).toHaveLength(1);
    expect(lines.at(-1)?.fields).toMatchObject({ reason: 'unsafe-replay', retryable: false });
  });

  test('after an answer leaves no status of that answer in the log [S0.5] [S0.12]', async () => {
    await using service = await startService((_, response, i) =>
      i === 0 ? sendJson(response, 503, {}) : response.destroy(),
    );
    const { logger, lines } = keptLog();
    const client = serviceClient({ baseUrl: service.url, policy: { maxAttempts: 2 }, logger, ...fastWaits().options });
    await expect(client.request(READ)).rejects.toMatchObject({ code: 'RETRY_STOPPED' });
    const failures = lines.filter((line) => line.message === 'attempt failed');
    expect(failures.map((line) => line.fields.httpStatus)).toEqual([503, undefined]);
  });

  test('a failed answer whose body hangs is judged by its status after a second [S0.5]', async () => {
    const { note, each } = arrivals(1);
    await using service = await startService((_, response) => {
      response.writeHead(400, { 'content-type': 'text/plain' });
      response.write('bad because', () => note(0));
    });
    const { options, time } = fastWaits();
    const failing = serviceClient({ baseUrl: service.url, ...options })
      .request(READ)
      .catch((error: unknown) => error);
    await each[0];
    const closed = closing(service.sockets[0]);
    // The status arrives some turns after it was sent; once it is there, a second of ours ends the wait for the rest.
    let done = false;
    void closed.then(() => (done = true));
    while (!done) {
      await new Promise((resolve) => setImmediate(resolve));
      if (time.pendingTimers > 1) await time.advance(1_000);
    }
    const error = await failing;
    expect(error).toMatchObject({ code: 'HTTP_STATUS', details: { status: 400 } });
    expect(answerOf(error)?.text).toBe('bad because');
    expect(time.pendingTimers).toBe(0);
  });

  test('a failed answer whose body breaks off is judged by its status [S0.5]', async () => {
    const bad = 'HTTP/1.1 404 Not Found\r\ncontent-length: 100\r\n\r\nno such';
    await using service = await startSocketService((socket) => socket.end(bad));
    const error: unknown = await serviceClient({ baseUrl: service.url })
      .request(READ)
      .catch((e: unknown) => e);
    expect(error).toMatchObject({ code: 'HTTP_STATUS', details: { status: 404 } });
    expect(answerOf(error)?.text).toBe('no such');
    expect(service.seen).toHaveLength(1);
  });
});

describe('a caller who gives up', () => {
  test('in the middle of the body gets its own reason, and the connection is closed [S0.1] [S0.5]', async () => {
    const { note, each } = arrivals(1);
    await using service = await startService((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write('[1,', () => note(0));
    });
    const caller = new AbortController();
    const pending = serviceClient({ baseUrl: service.url }).request({ ...READ, signal: caller.signal });
    pending.catch(() => {});
    await each[0];
    caller.abort('changed my mind');
    await expect(pending).rejects.toBe('changed my mind');
    await closing(service.sockets[0]);
    expect(service.seen).toHaveLength(1);
  });

  test('during a wait causes no further request [S0.1] [S0.5]', async () => {
    await using service = await startService((_, response) => sendJson(response, 503, {}));
    const caller = new AbortController();
    const observe = (event: { type: string }): void => {
      if (event.type === 'wait-started') setImmediate(() => caller.abort(new Error('enough')));
    };
    const client = serviceClient({ baseUrl: service.url, effects: fastWaits().time, observe });
    await expect(client.request({ ...READ, signal: caller.signal })).rejects.toThrow('enough');
    expect(service.seen).toHaveLength(1);
  });

  test('before the start sends nothing at all [S0.1] [S0.5]', async () => {
    await using service = await startService((_, response) => sendJson(response, 200, {}));
    const client = serviceClient({ baseUrl: service.url });
    await expect(client.request({ ...READ, signal: AbortSignal.abort('no') })).rejects.toBe('no');
    expect(service.sockets).toHaveLength(0);
  });
});

test('the answer of a failed attempt is done with before the next one: its connection is not held [F.25] [S0.5]', async () => {
  // Endless failed answers: whoever leaves such a body unread keeps its connection open for good.
  await using service = await startService((_, response, i) => {
    if (i === 3) return sendJson(response, 200, {});
    response.writeHead(503);
    const more = (): void => void (response.destroyed || response.write('x'.repeat(65_536), more));
    more();
  });
  const { options } = fastWaits();
  const client = serviceClient({
    baseUrl: service.url,
    policy: { maxAttempts: 4 },
    effects: options.effects,
    observe: (event) => {
      // No wait ends before the connection of the attempt is closed; if it never is, this test never ends.
      const connection = event.type === 'wait-started' ? service.seen.at(-1)?.socket : undefined;
      void closing(connection).then(() => options.observe(event));
    },
  });
  expect(await client.request(READ)).toMatchObject({ attempts: 4 });
  expect(service.seen.map((one) => one.socket.closed)).toEqual([true, true, true, false]);
});
