import { describe, expect, test } from 'vitest';
import { operatorServer } from '../../src/server/index.ts';
import { change, scriptedOperator, serveHere } from '../server/serving.ts';

const KEY = 'k'.repeat(43);
const { operator } = scriptedOperator();

/** A server that answers this machine alone, and there whoever has the key. */
async function server(): Promise<string> {
  return (await serveHere({ operator, localOnly: { key: KEY }, localActor: 'ann', basePath: '/ops' })).url;
}

describe('a server without tokens', () => {
  test('is not made where nobody said that it shall be for this machine alone [X.9]', () => {
    for (const options of [{}, { tokens: [] }]) {
      expect(() => operatorServer({ operator, consoleFiles: false, ...options })).toThrow(/localOnly: true/);
    }
    const short = { key: 'short' };
    expect(() => operatorServer({ operator, consoleFiles: false, localOnly: short })).toThrow(/16 to 1,000 characters/);
  });

  test('with a key of its start answers 401 with the next step to whoever has none [X.9]', async () => {
    const url = await server();
    for (const path of ['api/session', 'api/stats', 'api/events', 'mcp', 'api/openapi.json']) {
      const refused = await fetch(`${url}/ops/${path}`);
      expect([path, refused.status]).toEqual([path, 401]);
      expect(await refused.json()).toMatchObject({ next: expect.stringContaining('printed at the start') as string });
    }
    const guess = { authorization: `Bearer ${'x'.repeat(43)}` };
    expect((await fetch(`${url}/ops/api/stats`, { headers: guess })).status).toBe(401);
    expect((await fetch(`${url}/ops/?key=${'x'.repeat(43)}`, { redirect: 'manual' })).status).toBe(401);
    expect((await fetch(`${url}/ops/healthz`)).status).toBe(200);
  });

  test('lets in by the address with the key, and takes it out of the address [X.9]', async () => {
    const url = await server();
    const opened = await fetch(`${url}/ops/?key=${KEY}`, { redirect: 'manual' });
    expect([opened.status, opened.headers.get('location')]).toEqual([303, '/ops/']);
    const [cookie = ''] = (opened.headers.get('set-cookie') ?? '').split(';');
    expect(opened.headers.get('set-cookie')).toMatch(/Path=\/ops; .*HttpOnly; SameSite=Strict/);
    expect(cookie).not.toContain(KEY);
    const session = (await (await fetch(`${url}/ops/api/session`, { headers: { cookie } })).json()) as { csrf: string };
    expect(session).toMatchObject({ actor: 'ann', role: 'admin' });
    const written = change({}, { cookie, 'x-holdfast-csrf': session.csrf });
    expect((await fetch(`${url}/ops/api/pause-all`, written)).status).toBe(200);
    const forged = await fetch(`${url}/ops/api/pause-all`, change({}, { cookie }));
    expect(await forged.json()).toMatchObject({ code: 'CSRF_MISSING' });
    expect((await fetch(`${url}/ops/api/stats`, { headers: { authorization: `Bearer ${KEY}` } })).status).toBe(200);
  });

  test('takes the key from this machine alone [X.9]', async () => {
    const ops = operatorServer({ operator, consoleFiles: false, localOnly: { key: KEY } });
    const headers = { host: 'localhost:4747', authorization: `Bearer ${KEY}` };
    const statusOf = async (facts: object, more = {}): Promise<number> => {
      const request = new Request('http://localhost/api/stats', { headers: { ...headers, ...more } });
      return (await ops.fetch(request, facts)).status;
    };
    const here = { peer: '127.0.0.1', port: 4747, httpVersion: '1.1' };
    expect(await statusOf(here)).toBe(200);
    expect(await statusOf({ ...here, peer: '10.0.0.1' })).toBe(403);
    expect(await statusOf({ ...here, port: 4748 })).toBe(403);
    expect(await statusOf({ ...here, httpVersion: '1.0' })).toBe(403);
    expect(await statusOf(here, { via: '1.1 proxy' })).toBe(403);
    expect(await statusOf(here, { host: 'localhost' })).toBe(403);
  });
});
