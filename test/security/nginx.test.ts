import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { expect, onTestFinished } from 'vitest';
import { startHoldfast } from '../cli/holdfast-process.ts';
import { OperatorDatabase } from '../operator/operator-database.ts';
import { scriptedOperator, serveHere } from '../server/serving.ts';
import { CERTIFICATE } from '../support/certificate.ts';
import { needs } from '../support/needs.ts';
import { startNginx } from '../support/nginx.ts';

const test = needs('nginx', 'postgres');

const ASKED = [
  'GET /api/session',
  'GET /api/stats',
  'GET /api/messages',
  'GET /api/events',
  'GET /api/openapi.json',
  'POST /api/pause-all',
  'POST /mcp',
] as const;

/** How it was answered, by a proxy or without one. */
function statusOf(base: string, asked: string): Promise<number | undefined> {
  const [method = '', path = ''] = asked.split(' ');
  const send = base.startsWith('https:') ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const request = send(`${base}${path}`, { method, ca: CERTIFICATE, agent: false }, (response) => {
      resolve(response.statusCode);
      response.destroy();
    });
    request.once('error', reject);
    request.end();
  });
}

test('an nginx in front that adds no header gets nothing of serve without tokens, with its own settings, with TLS and over HTTP/1.1 [X.9]', async ({
  nginx,
  postgres,
}) => {
  const { schema } = await OperatorDatabase.open(postgres);
  const env = { DATABASE_URL: postgres.url, HOLDFAST_SCHEMA: schema };
  const running = startHoldfast(['serve', '--local', '--port', '0'], { env });
  onTestFinished(async () => {
    running.child.kill('SIGTERM');
    await running.ended;
  });
  await running.until(/Serving http:\S+\/\?key=\S+/);
  const [, url = '', key = ''] = /Serving (\S+)\/\?key=(\S+)/.exec(running.output()) ?? [];
  const { plain, tls, alike } = await startNginx(nginx.url, url);
  for (const base of [plain, tls, alike]) {
    for (const asked of ASKED) expect([403, 401], `${base} ${asked}`).toContain(await statusOf(base, asked));
  }
  // What cannot be told from a program of this machine has no key.
  for (const asked of ASKED) expect([asked, await statusOf(alike, asked)]).toEqual([asked, 401]);
  expect(await statusOf(alike, `GET /?key=${'x'.repeat(43)}`)).toBe(401);
  expect(await statusOf(url, `GET /?key=${key}`)).toBe(303);
  expect([await statusOf(url, 'GET /metrics'), await statusOf(url, 'GET /healthz')]).toEqual([200, 200]);
});

test('an nginx of Debian with its own settings gets nothing of a server that is open to this machine [X.9]', async ({
  nginx,
}) => {
  const { url } = await serveHere({ operator: scriptedOperator().operator, localOnly: true });
  const { plain, tls } = await startNginx(nginx.url, url);
  expect(await statusOf(url, 'GET /api/stats')).toBe(200);
  for (const base of [plain, tls]) {
    for (const asked of [...ASKED, 'GET /', 'GET /metrics'])
      expect([asked, await statusOf(base, asked)]).toEqual([asked, 403]);
  }
});
