import { describe, expect, test } from 'vitest';
import { type HttpMethod, serviceClient } from '../../src/http/index.ts';
import { closing, type LocalService, sendJson, startService } from './local-service.ts';

/** A service that sends `/from…` to `location` by `status` and answers everything else. */
function redirecting(status: number, location: string): Promise<LocalService> {
  return startService((request, response) => {
    if (!request.url.startsWith('/from')) return sendJson(response, 200, { at: request.url });
    response.writeHead(status, { location });
    response.end('moved');
  });
}

describe('redirects', () => {
  test('are refused by default, naming only the origin they lead to [S0.5]', async () => {
    await using service = await redirecting(302, 'https://user:pw@elsewhere.example/path?token=abc#top');
    const failing = serviceClient({ baseUrl: service.url }).request({ operation: 'read', path: '/from' });
    await expect(failing).rejects.toMatchObject({
      code: 'HTTP_REDIRECT_REFUSED',
      details: { operation: 'read', status: 302, location: 'https://elsewhere.example/…' },
    });
    expect(service.seen).toHaveLength(1);
  });

  test('with a body that never ends do not hold their connection [S0.5]', async () => {
    await using service = await startService((_, response) => {
      response.writeHead(302, { location: '/to' });
      const more = (): void => void (response.destroyed || response.write('x'.repeat(65_536), more));
      more();
    });
    // Held on to: Node closes the connection of a response that was collected as garbage, sooner or later.
    const responses: Response[] = [];
    const keeping: typeof fetch = async (...sent) => {
      const response = await fetch(...sent);
      responses.push(response);
      return response;
    };
    const client = serviceClient({ baseUrl: service.url, fetch: keeping });
    await expect(client.request({ operation: 'read', path: '/from' })).rejects.toMatchObject({
      code: 'HTTP_REDIRECT_REFUSED',
    });
    await closing(service.seen[0]?.socket);
    expect(responses).toHaveLength(1);
    expect(service.seen).toHaveLength(1);
  });

  test('to another origin are never followed, so no token reaches it [S0.5]', async () => {
    await using other = await startService((_, response) => sendJson(response, 200, {}));
    await using service = await redirecting(307, `${other.url}/to`);
    const client = serviceClient({ baseUrl: service.url, bearer: 'token-a', redirects: 'same-origin' });
    await expect(client.request({ operation: 'read', path: '/from' })).rejects.toMatchObject({
      code: 'HTTP_REDIRECT_REFUSED',
    });
    expect(other.sockets).toHaveLength(0);
  });

  test.each([301, 302, 303, 307, 308])(
    '%i of a GET is followed within the origin when allowed [S0.5]',
    async (status) => {
      await using service = await redirecting(status, '/to?x=1');
      const client = serviceClient({ baseUrl: service.url, bearer: 'token-a', redirects: 'same-origin' });
      expect(await client.request({ operation: 'read', path: '/from' })).toMatchObject({
        data: { at: '/to?x=1' },
        attempts: 1,
      });
      expect(service.seen[1]?.headers.authorization).toBe('Bearer token-a');
    },
  );

  test.each<[number, HttpMethod | 'refused']>([
    [301, 'refused'],
    [302, 'refused'],
    [303, 'GET'],
    [307, 'POST'],
    [308, 'POST'],
  ])('%i of a POST is %s: a write is repeated or read, never silently dropped [S0.5]', async (status, method) => {
    await using service = await redirecting(status, '/to');
    const client = serviceClient({ baseUrl: service.url, redirects: 'same-origin' });
    const result: unknown = await client
      .request({ operation: 'write', path: '/from', json: { a: 1 } })
      .catch((e: unknown) => e);
    if (method === 'refused') expect(result).toMatchObject({ code: 'HTTP_REDIRECT_REFUSED' });
    else expect(service.seen[1]).toMatchObject({ method, body: method === 'POST' ? '{"a":1}' : '' });
  });

  test('that go on for ever are refused after five [S0.5]', async () => {
    await using service = await redirecting(302, '/from/again');
    const client = serviceClient({ baseUrl: service.url, redirects: 'same-origin' });
    await expect(client.request({ operation: 'read', path: '/from' })).rejects.toMatchObject({
      code: 'HTTP_REDIRECT_REFUSED',
    });
    expect(service.seen).toHaveLength(6);
  });

  test.each(['', 'javascript:alert(1)', 'http://'])(
    'to %j are refused without repeating it [S0.5]',
    async (location) => {
      await using service = await redirecting(302, location);
      const client = serviceClient({ baseUrl: service.url });
      const failing = client.request({ operation: 'read', path: '/from' });
      await expect(failing).rejects.toMatchObject({ code: 'HTTP_REDIRECT_REFUSED' });
      await expect(failing).rejects.not.toThrow(/javascript/);
    },
  );
});
