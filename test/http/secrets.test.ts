import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { answerOf, codingAgent, gitHost, type HttpRequest, llm, serviceClient } from '../../src/http/index.ts';
import { fastWaits } from './fast-waits.ts';
import { keptLog, type Line } from './kept-log.ts';
import { type LocalService, sendJson, startService, startSocketService } from './local-service.ts';

const TOKEN = 'tok"en-5f3a9c/=';
const API_KEY = 'sk-live-771199';
const BODY = 'body-secret-4242';
const QUERY = 'query-secret-88';
const ALL = [TOKEN, API_KEY, BODY, QUERY, JSON.stringify(TOKEN).slice(1, -1)];

/** Everything a program might print, log or store of an error and of the log lines. */
function shown(error: unknown, lines: readonly Line[]): string {
  const texts: string[] = [
    inspect(error, { depth: 20, showHidden: false }),
    String(error),
    JSON.stringify(lines),
    inspect(lines, { depth: 20 }),
  ];
  for (let at = error; at instanceof Error; at = at.cause) {
    texts.push(
      JSON.stringify(at),
      String(at.stack),
      JSON.stringify(Object.entries(at)),
      JSON.stringify(Object.assign({}, at)),
    );
  }
  return texts.join('\n');
}

function expectNoSecret(text: string): void {
  for (const secret of ALL) expect(text).not.toContain(secret);
}

/** Fails a request that carries every kind of secret, and gives all that can be seen of it. */
async function failWithSecrets(
  service: LocalService,
  request: Partial<HttpRequest> = {},
): Promise<{ error: unknown; text: string }> {
  const { logger, lines } = keptLog();
  const client = serviceClient({
    baseUrl: service.url,
    bearer: TOKEN,
    headers: { 'x-api-key': API_KEY },
    logger,
    ...fastWaits().options,
  });
  const error: unknown = await client
    .request({
      operation: 'act',
      path: '/',
      query: { q: QUERY },
      json: { password: BODY },
      idempotencyKey: 'k1',
      ...request,
    })
    .catch((e: unknown) => e);
  expect(error).toBeInstanceOf(Error);
  expect(lines.length).toBeGreaterThan(1);
  return { error, text: shown(error, lines) };
}

/** Sends back all it was sent, as JSON. */
const echo = (status: number): Promise<LocalService> =>
  startService((request, response) =>
    sendJson(response, status, {
      ...request.headers,
      sent: request.body,
      url: request.url,
      raw: request.headers.authorization,
    }),
  );

describe('secrets are in no log line and no error', () => {
  test.each([400, 401, 503])('when a service echoes everything with a %i [S0.5]', async (status) => {
    await using service = await echo(status);
    const { error, text } = await failWithSecrets(service);
    expectNoSecret(text);
    expect(text).toContain('act');
    // The caller may look at the answer; what it sent itself under a name that speaks of a secret is blanked even there.
    const answer = answerOf(error)?.text ?? '';
    expect(answer).toContain(QUERY);
    for (const secret of [TOKEN, API_KEY, BODY, JSON.stringify(TOKEN).slice(1, -1)])
      expect(answer).not.toContain(secret);
    expect(answer).toContain('[hidden]');
  });

  test('when the answer fails its schema or is no JSON [S0.5]', async () => {
    await using service = await echo(200);
    const schema = z.object({ authorization: z.number(), sent: z.literal('x'), [TOKEN]: z.string() });
    const { error, text } = await failWithSecrets(service, { schema });
    expect(error).toMatchObject({ code: 'HTTP_BODY_INVALID' });
    expectNoSecret(text);

    await using page = await startService((request, response) => {
      response.writeHead(200, { 'content-type': `text/${API_KEY}` });
      response.end(`${request.headers.authorization} ${request.body}`);
    });
    expectNoSecret((await failWithSecrets(page)).text.replace(`text/${API_KEY}`, ''));
  });

  test('when a redirect carries them [S0.5]', async () => {
    await using service = await startService((request, response) => {
      const token = encodeURIComponent(TOKEN);
      response.writeHead(302, { location: `https://${API_KEY}:x@host.example/${token}${request.url}` });
      response.end();
    });
    const { text } = await failWithSecrets(service);
    expectNoSecret(text);
    expect(text).not.toContain(encodeURIComponent(TOKEN));
  });

  test('when something that is no HTTP server sends the request back [S0.5]', async () => {
    await using service = await startSocketService((socket) => {
      const request = service.seen.at(-1)?.body ?? '';
      socket.end(request);
    });
    const { error, text } = await failWithSecrets(service);
    expect(error).toMatchObject({ cause: { code: 'HTTP_NO_ANSWER' } });
    expectNoSecret(text);
  });

  test('when they cannot be sent at all because they would break the header [S0.5]', async () => {
    for (const options of [{ bearer: `${TOKEN}\r\nx: y` }, { headers: { 'x-api-key': `${API_KEY}\n` } }]) {
      const refused = (): unknown => serviceClient({ baseUrl: 'http://127.0.0.1', ...options });
      expect(refused).toThrow(/cannot work as written/);
      try {
        refused();
      } catch (error) {
        expectNoSecret(shown(error, []));
      }
    }
    await using service = await echo(200);
    const bearer = (): string => `${TOKEN}\r\nx: y`;
    const client = serviceClient({ baseUrl: service.url, bearer });
    const error: unknown = await client.request({ operation: 'act', path: '/' }).catch((e: unknown) => e);
    expect(error).toMatchObject({ code: 'INVALID_OPTIONS' });
    expectNoSecret(shown(error, []));
    expect(service.sockets).toHaveLength(0);
  });

  test('of the ready-made clients either [S0.5] [S0.6]', async () => {
    await using service = await echo(400);
    const { logger, lines } = keptLog();
    const options = { baseUrl: service.url, logger };
    const calls = [
      () => gitHost({ ...options, token: TOKEN }).ensureUser({ username: 'u', email: 'u@example.org', password: BODY }),
      () => codingAgent({ ...options, bearer: TOKEN }).sendMessage({ sessionId: 's', text: BODY, idempotencyKey: 'k' }),
      () => llm({ ...options, bearer: API_KEY }).chat({ model: 'm', messages: [{ role: 'user', content: BODY }] }),
    ];
    for (const call of calls) {
      const error: unknown = await call().catch((e: unknown) => e);
      expect(error).toBeInstanceOf(Error);
      expectNoSecret(shown(error, lines));
    }
  });

  test('when a service echoes the token of a header written by hand, alone [S0.5]', async () => {
    await using service = await startService((request, response) =>
      sendJson(response, 400, { sent: request.headers.authorization?.split(' ')[1], url: request.url }),
    );
    const client = serviceClient({ baseUrl: service.url, headers: { authorization: `Bearer ${API_KEY}` } });
    const error: unknown = await client
      .request({ operation: 'act', path: '/', query: { access_token: QUERY } })
      .catch((e: unknown) => e);
    expect(answerOf(error)?.text).toBe('{"sent":"[hidden]","url":"/?access_token=[hidden]"}');
  });

  test('when a Git host echoes the password of the user it refuses [S0.5]', async () => {
    await using service = await startService((request, response) =>
      sendJson(response, request.method === 'GET' ? 404 : 422, { sent: request.body }),
    );
    const git = gitHost({ baseUrl: service.url, token: TOKEN });
    const user = { username: 'u', email: 'u@example.org', password: BODY };
    const answer = answerOf(await git.ensureUser(user).catch((e: unknown) => e))?.text;
    expect(answer).toContain('u@example.org');
    expect(answer).not.toContain(BODY);
  });

  test('when a redirect leads to a path that is a secret by itself [S0.5]', async () => {
    await using service = await startService((_, response) => {
      response.writeHead(302, { location: `/magic/${BODY}` });
      response.end();
    });
    const { error, text } = await failWithSecrets(service);
    expect(error).toMatchObject({ code: 'HTTP_REDIRECT_REFUSED', details: { location: `${service.url}/…` } });
    expectNoSecret(text);
  });
});
