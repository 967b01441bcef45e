import { describe, expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { serviceClient } from '../../src/http/index.ts';
import { fastWaits } from './fast-waits.ts';
import { keptLog } from './kept-log.ts';
import { sendJson, startService } from './local-service.ts';

const Thing = z.object({ id: z.string() });
const CREATE = { operation: 'create-thing', path: '/things', json: { id: 'a' }, schema: Thing } as const;

describe('create if absent', () => {
  test('a thing that was made is given back as created [S0.2] [S0.5]', async () => {
    await using service = await startService((_, response) => sendJson(response, 201, { id: 'a' }));
    const made = await serviceClient({ baseUrl: service.url }).createIfAbsent(CREATE);
    expectTypeOf(made.data).toEqualTypeOf<{ id: string } | undefined>();
    expect(made).toMatchObject({ created: true, status: 201, data: { id: 'a' } });
    expect(service.seen[0]?.method).toBe('POST');
  });

  test('409 is a success: nothing is retried and nothing is logged as a failure [S0.2] [S0.5]', async () => {
    await using service = await startService((_, response) => sendJson(response, 409, { error: 'exists' }));
    const { logger, lines } = keptLog();
    const made = await serviceClient({ baseUrl: service.url, logger }).createIfAbsent(CREATE);
    expect(made).toMatchObject({ created: false, status: 409, data: undefined, attempts: 1 });
    expect(lines).toMatchObject([{ level: 'debug', fields: { httpStatus: 409 } }]);
  });

  test('with the place of the thing, 409 gives the thing that is there, under the same request id [S0.2] [S0.5]', async () => {
    await using service = await startService((request, response) =>
      request.method === 'POST' ? sendJson(response, 409, {}) : sendJson(response, 200, { id: 'a' }),
    );
    const client = serviceClient({ baseUrl: service.url });
    const made = await client.createIfAbsent({
      ...CREATE,
      user: 'u1',
      existing: { path: '/things/a', query: { full: true } },
    });
    expect(made).toMatchObject({ created: false, status: 200, data: { id: 'a' } });
    expect(service.seen.map((one) => one.url)).toEqual(['/things', '/things/a?full=true']);
    const [post, get] = service.seen;
    expect(get?.headers).toMatchObject({ 'x-request-id': post?.headers['x-request-id'], 'x-user-id': 'u1' });
  });

  test('a conflict about something that is not there is an error [S0.2] [S0.5]', async () => {
    await using service = await startService((request, response) =>
      sendJson(response, request.method === 'POST' ? 409 : 404, {}),
    );
    const making = serviceClient({ baseUrl: service.url }).createIfAbsent({
      ...CREATE,
      existing: { path: '/things/a' },
    });
    await expect(making).rejects.toMatchObject({
      code: 'HTTP_STATUS',
      details: { operation: 'create-thing', status: 409 },
    });
  });

  test('it is repeated without a key, and the 409 of its own first attempt counts as made [S0.2] [S0.5]', async () => {
    await using service = await startService((_, response, i) => sendJson(response, i === 0 ? 504 : 409, {}));
    const made = await serviceClient({ baseUrl: service.url, ...fastWaits().options }).createIfAbsent(CREATE);
    expect(made).toMatchObject({ created: false, attempts: 2 });
    expect(service.seen).toHaveLength(2);
  });

  test('a plain request still fails with 409, at once [S0.2]', async () => {
    await using service = await startService((_, response) => sendJson(response, 409, {}));
    const client = serviceClient({ baseUrl: service.url, ...fastWaits().options });
    await expect(client.request({ ...CREATE, idempotencyKey: 'k' })).rejects.toMatchObject({
      details: { status: 409 },
    });
    expect(service.seen).toHaveLength(1);
  });

  test('find gives undefined for 404 and 410 and the thing for 200 [S0.5]', async () => {
    await using service = await startService((request, response) =>
      sendJson(response, Number(request.url.slice(1)), { id: 'a' }),
    );
    const client = serviceClient({ baseUrl: service.url });
    const statusesAndFinds = [];
    for (const status of [404, 410, 200]) {
      const found = await client.find({ operation: 'find-thing', path: `/${status}`, schema: Thing });
      statusesAndFinds.push([status, found?.data]);
    }
    expect(statusesAndFinds).toEqual([
      [404, undefined],
      [410, undefined],
      [200, { id: 'a' }],
    ]);
  });

  test('what is there is read the way the request says [S0.5]', async () => {
    await using service = await startService((request, response) => {
      response.writeHead(request.method === 'POST' ? 409 : 200, { 'content-type': 'text/plain' });
      response.end('the thing');
    });
    const { schema: _, ...create } = CREATE;
    const client = serviceClient({ baseUrl: service.url });
    const made = await client.createIfAbsent({ ...create, read: 'text', existing: { path: '/things/a' } });
    expectTypeOf(made.data).toEqualTypeOf<string | undefined>();
    expect(made.data).toBe('the thing');
  });
});
