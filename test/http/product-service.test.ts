import { describe, expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { path, productService } from '../../src/http/index.ts';
import { fastWaits } from './fast-waits.ts';
import { keptLog } from './kept-log.ts';
import { sendJson, startService } from './local-service.ts';

const Session = z.object({ id: z.string() });
const endpoints = {
  list: { path: '/sessions', schema: z.array(Session) },
  configure: {
    method: 'POST',
    path: (p: { sessionId: string }) => path`/sessions/${p.sessionId}/configure`,
    schema: Session,
    timeoutMs: 20_000,
  },
  search: { method: 'POST', path: '/search', repeatable: true },
} as const;

describe('a product service', () => {
  test('is called by the names of its endpoints, typed by their schemas and paths [S0.6]', async () => {
    await using service = await startService((request, response) =>
      sendJson(response, 200, request.method === 'GET' ? [{ id: 'a' }] : { id: 'b' }),
    );
    const interview = productService({
      name: 'interview',
      baseUrl: service.url,
      bearer: 'token-a',
      userHeader: 'x-growqr-user',
      endpoints,
    });
    const list = await interview.call('list', { query: { limit: 2 }, user: 'user_123' });
    expectTypeOf(list.data).toEqualTypeOf<{ id: string }[]>();
    const key = 'service:user_123:interview:configure:session_abc';
    const configured = await interview.call('configure', {
      params: { sessionId: 'a/b' },
      json: { level: 2 },
      idempotencyKey: key,
    });
    expectTypeOf(configured.data).toEqualTypeOf<{ id: string }>();
    expectTypeOf(interview.call<'search'>)
      .returns.resolves.toHaveProperty('data')
      .toEqualTypeOf<unknown>();
    expect([list.data, configured.data]).toEqual([[{ id: 'a' }], { id: 'b' }]);
    expect(service.seen).toMatchObject([
      {
        method: 'GET',
        url: '/sessions?limit=2',
        headers: { authorization: 'Bearer token-a', 'x-growqr-user': 'user_123' },
      },
      {
        method: 'POST',
        url: '/sessions/a%2Fb/configure',
        headers: { 'idempotency-key': key, 'x-timeout-ms': '20000' },
        body: '{"level":2}',
      },
    ]);
    for (const { headers } of service.seen) expect(headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('names its operations after itself and retries what may be repeated [S0.6]', async () => {
    await using service = await startService((_, response) => sendJson(response, 503, {}));
    const { logger, lines } = keptLog();
    const { options } = fastWaits();
    const interview = productService({ name: 'interview', baseUrl: service.url, logger, endpoints, ...options });
    await expect(interview.call('search', { json: {} })).rejects.toMatchObject({
      details: { operation: 'interview.search', attempts: 3 },
    });
    await expect(interview.call('configure', { params: { sessionId: 's' }, json: {} })).rejects.toMatchObject({
      code: 'HTTP_STATUS',
    });
    expect(service.seen.map((one) => one.url)).toEqual(['/search', '/search', '/search', '/sessions/s/configure']);
    expect(new Set(lines.map((line) => line.fields.operation))).toEqual(
      new Set(['interview.search', 'interview.configure']),
    );
  });

  test('says how it is under its own name [S0.6]', async () => {
    await using service = await startService((_, response) => sendJson(response, 200, {}));
    const { logger, lines } = keptLog();
    const interview = productService({ name: 'interview', baseUrl: service.url, logger, endpoints });
    expect(await interview.health({ path: '/healthz' })).toEqual({ kind: 'up', status: 200, attempts: 1 });
    expect(lines[0]?.fields.operation).toBe('interview.health');
  });

  test('refuses an endpoint it does not have, and what it cannot be made from [S0.6]', async () => {
    const interview = productService({ name: 'interview', baseUrl: 'http://127.0.0.1', endpoints });
    await expect(interview.call('lost' as 'list')).rejects.toThrow(/did you mean list\?/);
    expect(() => productService({ name: '', baseUrl: 'http://127.0.0.1', endpoints: null as never })).toThrow(
      /name is.*endpoints is/,
    );
    expect(() => productService({ name: 'x', baseURL: 'http://127.0.0.1', endpoints } as never)).toThrow(
      /did you mean baseUrl\?/,
    );
  });
});
