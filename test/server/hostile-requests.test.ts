import { connect } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { as, change, scriptedOperator, serveHere, TOKENS } from './serving.ts';

/** Writes to a socket and gives what comes back, as far as it has come. */
function talk(url: string, text: string): () => string {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  let heard = '';
  socket.on('data', (part) => (heard += part.toString('latin1'))).on('error', () => undefined);
  socket.write(text);
  onTestFinished(() => void socket.destroy());
  return () => heard;
}

const HEAD = `host: localhost\r\nauthorization: ${as('viewer').authorization}\r\n`;

describe('the operator server', () => {
  test('refuses names and values that it cannot read, and does not call that its own failure [X.9]', async () => {
    const outOfRange = Object.assign(new Error('date/time field value out of range'), { code: '22008' });
    const { operator } = scriptedOperator({ deadLetters: () => Promise.reject(outOfRange) });
    const { url } = await serveHere({ operator, tokens: TOKENS });
    for (const query of ['constructor=1', '__proto__=1', 'toString=1', 'cursor=a&hasOwnProperty=1']) {
      const response = await fetch(`${url}/api/messages?${query}`, { headers: as('viewer') });
      expect([query, response.status]).toEqual([query, 400]);
    }
    const response = await fetch(`${url}/api/dead-letters?since=0000-01-01T00:00:00Z`, { headers: as('viewer') });
    expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([400, 'INVALID_OPTIONS']);
  });

  test('answers further requests of a connection after one whose body nobody wanted [X.9]', async () => {
    const { operator } = scriptedOperator();
    const { url } = await serveHere({ operator, tokens: TOKENS });
    const body = 'x'.repeat(1_000_000);
    const heard = talk(
      url,
      `POST /api/pause-all HTTP/1.1\r\n${HEAD}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}` +
        `GET /api/session HTTP/1.1\r\n${HEAD}\r\n`,
    );
    await expect.poll(() => heard().match(/^HTTP\/1.1 \d+/gm)).toEqual(['HTTP/1.1 403', 'HTTP/1.1 200']);
  });

  test('opens no live connection for a request that wants its head alone [X.9]', async () => {
    const { operator } = scriptedOperator({ overview: () => Promise.reject(new Error('away')) });
    const { url } = await serveHere({ operator, tokens: TOKENS, maxStreams: 1 });
    const head = await fetch(`${url}/api/events`, { method: 'HEAD', headers: as('viewer') });
    expect([head.status, head.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8']);
    const heard = talk(url, `HEAD /api/events HTTP/1.1\r\n${HEAD}\r\nGET /api/session HTTP/1.1\r\n${HEAD}\r\n`);
    await expect.poll(() => heard().match(/^HTTP\/1.1 \d+/gm)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 200']);
    const stream = await fetch(`${url}/api/events`, { headers: as('viewer') });
    expect(stream.status).toBe(200);
    await stream.body?.cancel();
  });

  test('takes writes of a page that another process of the application has served, and still none of another page [X.9]', async () => {
    const { operator } = scriptedOperator({ pauseAll: { kind: 'paused' } });
    const auth = (request: Request) =>
      request.headers.get('cookie') === 'app=ann' ? ({ actor: 'ann', role: 'admin' } as const) : undefined;
    const [first, second] = [await serveHere({ operator, auth }), await serveHere({ operator, auth })];
    const cookie = { cookie: 'app=ann' };
    const { csrf } = (await (await fetch(`${first.url}/api/session`, { headers: cookie })).json()) as { csrf: string };
    const write = async (headers: Record<string, string>): Promise<number> =>
      (await fetch(`${second.url}/api/pause-all`, change({}, { ...cookie, ...headers }))).status;
    expect(await write({ 'x-holdfast-csrf': csrf })).toBe(200);
    expect(await write({})).toBe(403);
    expect(await write({ 'x-holdfast-csrf': csrf, origin: 'https://elsewhere.example' })).toBe(403);
    expect(await write({ 'x-holdfast-csrf': csrf, 'sec-fetch-site': 'cross-site' })).toBe(403);
  });
});
