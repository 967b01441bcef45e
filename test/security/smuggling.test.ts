import type { Server } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished } from 'vitest';
import { mounted } from '../../src/cli/listen.ts';
import { qstashApi } from '../../src/qstash/index.ts';
import { boundedServer, operatorServer } from '../../src/server/index.ts';
import { sharedQstash } from '../qstash/qstash-here.ts';
import { as, scriptedOperator, TOKENS } from '../server/serving.ts';
import { needs, type TestServer } from '../support/needs.ts';
import { SMUGGLED } from './smuggled-requests.ts';

const test = needs('postgres');
const qstashHere = sharedQstash();

/** The console with the delivery API beside it, as `holdfast serve --deliver` has them, over an operator that notes what is asked. */
async function serving(postgres: TestServer) {
  const { deliveries, token } = await qstashHere(postgres);
  const { operator, asked } = scriptedOperator();
  const server = operatorServer({ operator, tokens: TOKENS, consoleFiles: false });
  const { listener } = mounted(server, qstashApi({ deliveries }));
  const http = boundedServer<Server>(listener, { requestMs: 2_000, headersMs: 2_000 });
  // Whoever is not understood, or has nothing more to say, is not waited for.
  http.keepAliveTimeout = 500;
  await new Promise<void>((done) => http.listen(0, '127.0.0.1', done));
  onTestFinished(async () => {
    await server.close();
    http.closeAllConnections();
    http.close();
  });
  const { port } = http.address() as AddressInfo;
  return { port, asked, deliveries, admin: as('admin').authorization, bearer: `Bearer ${token}` };
}

/** Sends these bytes and nothing more; gives the status of each response that comes until the server ends the connection. */
async function statuses(port: number, bytes: string): Promise<readonly number[]> {
  const socket = connect(port, '127.0.0.1');
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  const closed = new Promise<void>((done) => socket.on('error', () => done()).on('close', () => done()));
  socket.write(Buffer.from(bytes, 'latin1'));
  await closed;
  const text = Buffer.concat(chunks).toString('latin1');
  // Interim responses are none.
  return [...text.matchAll(/HTTP\/1\.1 ([2-5]\d\d) /g)].map(([, status]) => Number(status));
}

const request = (line: string, authorization: string, body = '{}'): string =>
  [
    `${line} HTTP/1.1`,
    'Host: localhost',
    `Authorization: ${authorization}`,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    '',
    body,
  ].join('\r\n');

test('a request that is hidden in another is neither done nor answered, at the console and the delivery API [X.9]', async ({
  postgres,
}) => {
  const { port, asked, deliveries, admin, bearer } = await serving(postgres);
  const hidden = (mark: string): readonly string[] => [
    request('POST /api/pause-all', admin, JSON.stringify({ reason: mark })),
    request('POST /v2/queues', bearer, JSON.stringify({ queueName: mark, parallelism: 1 })),
  ];
  const queues = async (): Promise<readonly string[]> => (await deliveries.queues.list()).map(({ name }) => name);
  const told = SMUGGLED.map(async ({ way, bytes }, i) => {
    const [first = [], second = []] = await Promise.all(hidden(`hidden-${i}`).map((one) => statuses(port, bytes(one))));
    // What makes no sense after the first may be refused.
    return [first, second].every(([, ...more]) => more.every((status) => status === 400)) ? [] : [[way, first, second]];
  });
  expect((await Promise.all(told)).flat()).toEqual([]);
  expect([asked, await queues()]).toEqual([[], []]);
  // The same requests are done where they are not hidden: also one after the other.
  expect(await statuses(port, hidden('shown').join(''))).toEqual([200, 200]);
  expect([asked.length, await queues()]).toEqual([1, ['shown']]);
});

const TO_CONSOLE = [
  '//api/pause-all',
  '///api/pause-all',
  '/./api/pause-all',
  '/x/../api/pause-all',
  '/v2/../api/pause-all',
  '/../api/pause-all',
  '/%2e/api/pause-all',
  '/%2e%2e/api/pause-all',
  '/x/%2e%2e/api/pause-all',
  '/x/.%2e/api/pause-all',
  '/x/%2E./api/pause-all',
  '/api//pause-all',
  '/api/./pause-all',
  '/api/%2e/pause-all',
  '/api/x/../pause-all',
  '/api/pause-all/.',
  '/api/pause-all/x/..',
  '/api/pause-all/',
  '/api/pause-all#x',
  '/api/pause-all;x',
  '/api/pause-all%00',
  '/api/pause-all\u0000',
  '/api/pause-all%20',
  '/api/pause-all\t',
  '/API/pause-all',
  '/%61pi/pause-all',
  '/api%2fpause-all',
  '/api%5cpause-all',
  String.raw`/api\pause-all`,
  String.raw`\api\pause-all`,
  String.raw`/x\..\api\pause-all`,
  '/..;/api/pause-all',
  '/x%2f..%2fapi/pause-all',
  '/%252e%252e/api/pause-all',
  '/\u00c0\u00ae\u00c0\u00ae/api/pause-all',
  'http://localhost/api/pause-all',
  'http://other.example/api/pause-all',
  'https:///api/pause-all',
  'localhost/api/pause-all',
  'api/pause-all',
  '*',
  '?/api/pause-all',
];

const TO_DELIVERY = TO_CONSOLE
  // What stands after the mark of a fragment was never meant for a server: there the URL before it is taken.
  .filter((target) => !target.includes('#'))
  .map((target) =>
    target.replace('api', 'v2').replace('API', 'V2').replace('pause-all', 'keys/rotate').replace('%61pi', '%762'),
  );

test('no target leads to another route than the one it names as it came [X.9]', async ({ postgres }) => {
  const { port, asked, deliveries, admin, bearer } = await serving(postgres);
  const keys = await deliveries.signingKeys.get();
  const all = [
    ...TO_CONSOLE.map((target) => [target, admin] as const),
    ...TO_DELIVERY.flatMap((target) => [[target, bearer] as const, [target, admin] as const]),
  ];
  const reached = all.map(async ([target, token]) => {
    const found = await statuses(port, request(`POST ${target}`, token, token === admin ? '{}' : ''));
    return found.length === 1 && found.every((status) => status >= 400 && status < 500) ? [] : [[target, ...found]];
  });
  expect((await Promise.all(reached)).flat()).toEqual([]);
  expect(asked).toEqual([]);
  expect(await deliveries.signingKeys.get()).toEqual(keys);
});

test('no target leads out of the folder of the console, nor to what needs no login by way of what does [X.9]', async ({
  postgres,
}) => {
  const { port } = await serving(postgres);
  const targets = [
    '/api/../healthz',
    '/api/%2e%2e/healthz',
    '//healthz',
    String.raw`/api\..\healthz`,
    'http://localhost/healthz',
    '/assets/../../package.json',
    '/assets/%2e%2e/%2e%2e/package.json',
    '/assets/..%5c..%5cpackage.json',
    String.raw`/assets\..\..\package.json`,
    '/assets/....//package.json',
    '//etc/passwd.txt',
    '/file:///etc/passwd.txt',
  ];
  const found = targets.map(async (target) => {
    const all = await statuses(port, `GET ${target} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    return all.length === 1 && all.every((status) => [400, 404].includes(status)) ? [] : [[target, all]];
  });
  expect((await Promise.all(found)).flat()).toEqual([]);
  expect(await statuses(port, 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n')).toEqual([200]);
});
