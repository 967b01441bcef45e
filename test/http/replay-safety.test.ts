import { describe, expect, test } from 'vitest';
import { type HttpMethod, serviceClient } from '../../src/http/index.ts';
import { fastWaits } from './fast-waits.ts';
import { keptLog } from './kept-log.ts';
import { deadUrl, sendJson, startService } from './local-service.ts';

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
    await expect(client.request({ ...act, body: body() })).rejects.toMatchObject({ details: { status: 429 } });
    expect(service.seen.map((one) => one.body)).toEqual(['part one, part two']);
    expect(lines.at(-1)?.fields).toMatchObject({ reason: 'unsafe-replay', retryable: false });

    const unreachable = serviceClient({ baseUrl: await deadUrl(), ...fastWaits().options });
    await expect(unreachable.request({ ...act, body: body() })).rejects.toMatchObject({ code: 'HTTP_NO_ANSWER' });
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
});
