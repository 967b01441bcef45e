import { describe, expect, test } from 'vitest';
import type { LogFields, Logger } from '../../src/kernel/log.ts';
import { stderrLogger } from '../../src/cli/commands/serve.ts';
import { mcpServer } from '../../src/mcp/index.ts';
import { systemEffects } from '../../src/system/effects.ts';
import { runHere } from '../cli/run-here.ts';
import { as, change, scriptedOperator, serveHere, TOKENS } from './serving.ts';

const OVERVIEW = { at: new Date(0), verdict: 'well', points: [], attention: [], handlers: [], breakers: [], audit: [] };

/** Notes what is logged. */
function noted(): { readonly logger: Logger; readonly lines: (readonly [level: string, LogFields, string])[] } {
  const lines: (readonly [string, LogFields, string])[] = [];
  const at =
    (level: string) =>
    (fields: LogFields, message: string): void =>
      void lines.push([level, fields, message]);
  return { logger: { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }, lines };
}

/** Logs in; the cookie and what writes need. */
async function logIn(url: string, headers: Record<string, string> = {}): Promise<Record<string, string>> {
  const login = await fetch(`${url}/api/session`, change({ token: TOKENS[0].token }, headers));
  const { csrf } = (await login.json()) as { csrf: string };
  return { cookie: login.headers.get('set-cookie')?.split(';')[0] ?? '', 'x-holdfast-csrf': csrf };
}

describe('the operator server', () => {
  test('ends live connections with the session they were opened in, and leaves others open [X.9]', async () => {
    const { operator } = scriptedOperator({ overview: OVERVIEW });
    // A minute passes with each look, so that nobody has to wait for one.
    let minutes = 0;
    const effects = { ...systemEffects, monoMs: () => (minutes += 1) * 60_000 };
    const { url } = await serveHere({ operator, tokens: TOKENS, pollMs: 20, effects, failedLoginsPerMinute: 1_000 });
    const [leaves, stays] = [await logIn(url), await logIn(url)];
    const open = async (headers: Record<string, string>): Promise<{ readonly isOver: () => boolean }> => {
      const stream = await fetch(`${url}/api/events`, { headers });
      expect(stream.status).toBe(200);
      let isOver = false;
      void new Response(stream.body).text().then(
        () => (isOver = true),
        () => (isOver = true),
      );
      return { isOver: () => isOver };
    };
    const [left, stayed, agent] = [await open(leaves), await open(stays), await open(as('viewer'))];
    expect((await fetch(`${url}/api/session`, { method: 'DELETE', headers: leaves })).status).toBe(200);
    await expect.poll(() => left.isOver(), { timeout: 10_000 }).toBe(true);
    expect([stayed.isOver(), agent.isOver()]).toEqual([false, false]);
  });

  test('logs who came in, who went and who was refused, and never with what [X.9]', async () => {
    const { operator } = scriptedOperator();
    const { logger, lines } = noted();
    const { url } = await serveHere({ operator, tokens: TOKENS, logger });
    const mine = await logIn(url);
    await fetch(`${url}/api/session`, change({ token: 'guessed\n-secret-1' }));
    await fetch(`${url}/api/pause-all`, change({}, mine));
    await fetch(`${url}/api/session`, { method: 'DELETE', headers: mine });
    const who = { actor: 'vera', role: 'viewer' };
    expect(lines).toEqual([
      ['info', { ...who, peer: '127.0.0.1' }, 'operator server: somebody logged in'],
      ['warn', { peer: '127.0.0.1' }, 'operator server: a login failed'],
      ['warn', { ...who, route: 'pauseAll', code: 'FORBIDDEN' }, 'operator server: a write was refused'],
      ['info', { ...who, peer: '127.0.0.1' }, 'operator server: somebody logged out'],
    ]);
    const written = JSON.stringify(lines);
    for (const secret of [TOKENS[0].token, 'guessed', mine['x-holdfast-csrf'], mine['cookie']]) {
      expect(written).not.toContain(secret);
    }
  });

  test('takes over https no session but one that only this host itself can have set [X.9]', async () => {
    const { operator } = scriptedOperator();
    const { url } = await serveHere({ operator, tokens: TOKENS });
    const https = { 'x-forwarded-proto': 'https' };
    const login = await fetch(`${url}/api/session`, change({ token: TOKENS[0].token }, https));
    const cookie = login.headers.get('set-cookie') ?? '';
    expect(cookie).toMatch(
      /^__Host-holdfast_session=[\w.-]+; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict; Secure$/,
    );
    const [mine = ''] = cookie.split(';');
    const ask = async (headers: Record<string, string>): Promise<number> =>
      (await fetch(`${url}/api/session`, { headers })).status;
    expect(await ask({ ...https, cookie: mine })).toBe(200);
    // A neighbour of the domain can set this one for all its hosts, and a page without TLS too.
    const tossed = mine.replace('__Host-', '');
    expect(await ask({ ...https, cookie: tossed })).toBe(401);
    expect(await ask({ ...https, cookie: `${tossed}x; ${mine}` })).toBe(200);
    const below = await serveHere({ operator, tokens: TOKENS, basePath: '/ops' });
    const other = await fetch(`${below.url}/ops/api/session`, change({ token: TOKENS[0].token }, https));
    // The browser lets no other path have the prefix of a host.
    expect(other.headers.get('set-cookie')).toMatch(/^__Secure-holdfast_session=[\w.-]+; Path=\/ops;.*; Secure$/);
  });
});

describe('the tools for agents', () => {
  test('tell of a failure that it is one, and the log what it was [X.9]', async () => {
    const overview = () => Promise.reject(new Error('connect ECONNREFUSED 10.0.0.5:5432 as ann@example.com'));
    const { operator } = scriptedOperator({ overview });
    const told: string[] = [];
    const agents = mcpServer({ operator, onError: ({ message }) => void told.push(message) });
    const { url } = await serveHere({ operator, tokens: TOKENS, mcp: (request) => agents.fetch(request) });
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'get_overview', arguments: {} } };
    const accept = { accept: 'application/json, text/event-stream' };
    const answer = await (await fetch(`${url}/mcp`, change(call, { ...as('viewer'), ...accept }))).text();
    expect(answer).toContain('holdfast doctor');
    expect(answer).not.toMatch(/10\.0\.0\.5|ann@/);
    expect(told).toEqual([expect.stringContaining('10.0.0.5')]);
    await agents.close();
  });
});

describe('the command line', () => {
  const HOSTILE = 'paid\u001b[2J\u009b31m\u202e\nlogin succeeded';
  // What a terminal acts upon, or shows in another order.
  const ACTS = /(?!\n)\p{Cc}|[\u202a-\u202e]/u;
  const ID = '01980000-0000-7000-8000-000000000001';

  test('writes nothing that a terminal would act upon, as text, as JSON and in what went wrong [X.9]', async () => {
    const message = { id: ID, type: HOSTILE, status: 'failed' };
    const { operator } = scriptedOperator({ find: { kind: 'found', message } });
    const { url } = await serveHere({ operator, tokens: TOKENS });
    const env = { HOLDFAST_SERVER: url, HOLDFAST_TOKEN: TOKENS[0].token };
    const text = await runHere(['messages', `id:${ID}`], { env });
    const json = await runHere(['messages', `id:${ID}`, '--json'], { env });
    expect([text.code, json.code], text.err).toEqual([0, 0]);
    expect(text.out).toContain('paid');
    expect(text.out + json.out).not.toMatch(ACTS);
    expect(JSON.parse(json.out)).toMatchObject({ items: [{ type: HOSTILE }] });
    const wrong = await runHere([HOSTILE], { env });
    expect(wrong.code).not.toBe(0);
    expect(wrong.err).not.toMatch(ACTS);
  });

  test('logs each failure in one line, whatever its text holds [X.9]', () => {
    let written = '';
    const logger = stderrLogger({ err: (text) => void (written += text) });
    logger.error({ code: 'SERVER_FAILED', err: new Error(HOSTILE) }, 'a request failed');
    expect(written).toBe('a request failed {"code":"SERVER_FAILED"} paid login succeeded\n');
  });
});
