import { describe, expect, test } from 'vitest';
import { probeHealth, serviceClient } from '../../src/http/index.ts';
import { fastWaits } from './fast-waits.ts';
import { closing, deadUrl, sendJson, startService, startSocketService } from './local-service.ts';

describe('a health probe', () => {
  test.each([
    [200, { kind: 'up', status: 200, attempts: 1 }],
    [204, { kind: 'up', status: 204, attempts: 1 }],
    [404, { kind: 'unavailable', reason: 'HTTP_STATUS', status: 404 }],
    [401, { kind: 'unavailable', reason: 'HTTP_STATUS', status: 401 }],
    [302, { kind: 'unavailable', reason: 'HTTP_REDIRECT_REFUSED', status: 302 }],
    [503, { kind: 'retryable', reason: 'HTTP_STATUS', status: 503, afterMs: 5_000 }],
    [429, { kind: 'retryable', reason: 'HTTP_STATUS', status: 429, afterMs: 5_000 }],
  ] as const)('answers a %i with the value %j, after one request [S0.6]', async (status, health) => {
    await using service = await startService((_, response) =>
      sendJson(response, status, 'ok', { 'retry-after': '5', location: '/x' }),
    );
    expect(await probeHealth(serviceClient({ baseUrl: service.url }))).toEqual(health);
    expect(service.seen.map((one) => one.url)).toEqual(['/health']);
  });

  test('answers a port on which nobody listens with "retryable" and the code [S0.6]', async () => {
    const dead = serviceClient({ baseUrl: await deadUrl() });
    expect(await probeHealth(dead)).toEqual({ kind: 'retryable', reason: 'ECONNREFUSED' });
  });

  test('answers a service that accepts and says nothing with "retryable" after its two seconds [S0.6]', async () => {
    let arrived = (): void => {};
    const arrival = new Promise<void>((resolve) => (arrived = resolve));
    await using service = await startSocketService(() => arrived());
    const { options, time } = fastWaits();
    const probing = probeHealth(serviceClient({ baseUrl: service.url, ...options }));
    await arrival;
    await time.advance(2_000);
    expect(await probing).toEqual({ kind: 'retryable', reason: 'ATTEMPT_TIMEOUT' });
    await closing(service.sockets[0]);
  });

  test('does not look at the body, and may be given more attempts [S0.6]', async () => {
    await using service = await startService((_, response, i) => {
      response.writeHead(i === 0 ? 503 : 200, { 'content-type': 'text/html' });
      response.end('<p>fine');
    });
    const client = serviceClient({ baseUrl: service.url, ...fastWaits().options });
    expect(await probeHealth(client, { path: '/ready', policy: { maxAttempts: 3 } })).toEqual({
      kind: 'up',
      status: 200,
      attempts: 2,
    });
  });

  test('answers an abort with a value, and throws only for wrong options [S0.6]', async () => {
    const client = serviceClient({ baseUrl: await deadUrl() });
    expect(await probeHealth(client, { signal: AbortSignal.abort() })).toEqual({
      kind: 'retryable',
      reason: 'aborted',
    });
    await expect(probeHealth(client, { path: '../admin' })).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
  });
});
