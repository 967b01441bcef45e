import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { expect, onTestFinished } from 'vitest';
import { launchChromium } from '../support/chromium.ts';
import { needs } from '../support/needs.ts';
import { DEV_TOKEN, devServer } from './dev-server.ts';

const test = needs('postgres', 'chromium');

const ATTACKER = 'attacker.example';

/** A server of this machine that notes who called it, with a page for whoever asks for `/`. */
async function noting(): Promise<{ readonly port: number; readonly paths: string[] }> {
  const paths: string[] = [];
  const server = createServer((request: IncomingMessage, response) => {
    if (request.url === '/') return void response.setHeader('content-type', 'text/html').end('<p>hello');
    paths.push(request.url ?? '');
    response.end('ok');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, paths };
}

// Newer browsers ask before a page of elsewhere may call this machine. Not every browser does, so this one does not.
const FLAGS = [
  '--host-resolver-rules=MAP *.example 127.0.0.1',
  '--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests,PrivateNetworkAccessSendPreflights',
];

/** A browser of somebody who develops, and what `dev` answered it, whether or not the page was allowed to see that. */
async function browsing(chromium: string, dev: string): Promise<{ page: Page; statuses: string[] }> {
  const browser = await launchChromium(chromium, FLAGS);
  onTestFinished(() => browser.close());
  const page = await browser.context.newPage();
  const network = await browser.context.newCDPSession(page);
  const asked = new Map<string, string>();
  const statuses: string[] = [];
  network.on('Network.requestWillBeSent', ({ requestId, request: { method, url } }) => {
    const { port, pathname } = new URL(url);
    if (port === new URL(dev).port) asked.set(requestId, `${method} ${pathname.split('/http')[0]}`);
  });
  network.on('Network.responseReceivedExtraInfo', ({ requestId, statusCode }) => {
    const what = asked.get(requestId);
    if (what !== undefined) statuses.push(`${statusCode} ${what}`);
  });
  await network.send('Network.enable');
  return { page, statuses };
}

/** What arrives of an attack, whatever becomes of it. */
const ASKED = [
  'POST /v2/publish',
  'GET /v2/publish',
  'POST /mcp',
  'POST /api/pause-all',
  'GET /api/session',
  'GET /api/messages',
  'GET /api/events',
  'GET /metrics',
  'GET /readyz',
  'GET /healthz',
];

/** Everything a page can send without asking, and some that it must ask for. */
async function attack(page: Page, dev: string, publish: string): Promise<void> {
  await page.evaluate(
    async ([url, message, token]) => {
      const target = `${url}/v2/publish/${message}`;
      const inQuery = `${target}?qstash_token=${token}&upstash-method=POST&upstash-callback=${encodeURIComponent(message)}`;
      const tried = [
        fetch(inQuery, { method: 'POST', mode: 'no-cors', body: '{}', headers: { 'content-type': 'text/plain' } }),
        fetch(target, { method: 'POST', headers: { authorization: `Bearer ${token}` }, body: '{}' }),
        fetch(`${url}/v2/keys`, { headers: { authorization: `Bearer ${token}` } }),
        fetch(`${url}/mcp`, {
          method: 'POST',
          mode: 'no-cors',
          body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
        }),
        fetch(`${url}/api/pause-all`, { method: 'POST', mode: 'no-cors', body: '{}' }),
        ...['api/session', 'api/messages', 'metrics', 'readyz', 'healthz'].map((path) =>
          fetch(`${url}/${path}`, { mode: 'no-cors' }),
        ),
      ];
      await Promise.allSettled(tried);
      await new Promise((resolve) => {
        const image = document.createElement('img');
        image.addEventListener('load', resolve);
        image.addEventListener('error', resolve);
        image.src = inQuery;
      });
      await new Promise((resolve) => {
        const events = new EventSource(`${url}/api/events`);
        events.addEventListener('open', () => resolve(events.close()));
        events.addEventListener('error', () => resolve(events.close()));
      });
      await new Promise((resolve) => {
        const socket = new WebSocket(`${url?.replace('http', 'ws')}/api/events`);
        socket.addEventListener('close', resolve);
        socket.addEventListener('open', () => socket.close());
      });
      await new Promise((resolve) => {
        const frame = document.createElement('iframe');
        frame.name = 'into';
        document.body.append(frame);
        const form = document.createElement('form');
        Object.assign(form, { method: 'POST', target: 'into', enctype: 'text/plain', action: inQuery });
        document.body.append(form);
        frame.addEventListener('load', resolve);
        form.submit();
      });
    },
    [dev, publish, DEV_TOKEN] as const,
  );
}

test('a page of another origin gets nothing done by the server of development, and no service called [X.8]', async ({
  chromium,
}) => {
  const [dev, service, elsewhere] = [await devServer(), await noting(), await noting()];
  const message = `http://127.0.0.1:${service.port}/stolen`;
  const { page, statuses } = await browsing(chromium.url, dev.url);
  await page.goto(`http://${ATTACKER}:${elsewhere.port}/`);
  await attack(page, dev.url, message);
  expect(statuses.map((status) => status.slice(4))).toEqual(expect.arrayContaining(ASKED));
  expect(statuses.filter((status) => !/^40[1-5] /.test(status))).toEqual([]);
  // The vendor's client, as it is, still publishes, and what it publishes is all that arrives.
  await dev.client.publish({ url: `http://127.0.0.1:${service.port}/wanted`, body: 'x' });
  await expect.poll(() => service.paths).toEqual(['/wanted']);
  const { logs } = await dev.client.logs();
  expect([...new Set(logs.map(({ url }) => new URL(url).pathname))]).toEqual(['/wanted']);
  // A link to the console may be followed from anywhere.
  const answer = await page.goto(`${dev.url}/`);
  expect(answer?.status()).toBe(200);
});

test('a name that was turned to this machine gets no route of it answered [X.8]', async ({ chromium }) => {
  const [dev, service] = [await devServer(), await noting()];
  const rebound = dev.url.replace('127.0.0.1', ATTACKER);
  const { page, statuses } = await browsing(chromium.url, dev.url);
  // The page came while the name was still the attacker's; from now on it leads here.
  await page.route(`${rebound}/`, (route) => route.fulfill({ contentType: 'text/html', body: '<p>hello' }), {
    times: 1,
  });
  await page.goto(`${rebound}/`);
  await attack(page, rebound, `http://127.0.0.1:${service.port}/stolen`);
  expect(statuses.map((status) => status.slice(4))).toEqual(expect.arrayContaining(ASKED));
  expect(statuses.filter((status) => !status.startsWith('403 '))).toEqual([]);
  expect((await page.goto(`${rebound}/index.html`))?.status()).toBe(403);
  await dev.client.publish({ url: `http://127.0.0.1:${service.port}/wanted`, body: 'x' });
  await expect.poll(() => service.paths).toEqual(['/wanted']);
});

test('a token in the query is nobody, unless it is private and the server was told to take it [X.8]', async () => {
  const dev = await devServer();
  const answer = await fetch(`${dev.url}/v2/publish/https://example.com?qstash_token=${DEV_TOKEN}`, { method: 'POST' });
  expect([answer.status, await answer.text()]).toEqual([401, expect.stringContaining('Authorization: Bearer')]);
});
