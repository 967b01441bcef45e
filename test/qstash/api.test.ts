import { connect } from 'node:net';
import { Client, QstashRatelimitError, Receiver } from '@upstash/qstash';
import { expect, vi } from 'vitest';
import { withDevCredentials } from '../../src/cli/qstash-dev.ts';
import { needs } from '../support/needs.ts';
import { clientOf, sharedQstash } from './qstash-here.ts';

const test = needs('postgres');
const qstashHere = sharedQstash();

/** Sends a request line as it is: no client resolves anything in it. Answers the status and the body. */
async function raw(
  url: string,
  line: string,
  headers: readonly string[],
): Promise<readonly [status: number, body: string]> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.write(
    [`${line} HTTP/1.1`, `Host: ${hostname}`, 'Connection: close', 'Content-Length: 0', ...headers, '', ''].join(
      '\r\n',
    ),
  );
  const answer = Buffer.concat((await socket.toArray()) as Buffer[]).toString();
  return [Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]), answer.slice(answer.indexOf('\r\n\r\n') + 4)];
}

test('no destination leads the client to a route that rules the server, nor does one on a bare socket [X.8]', async ({
  postgres,
}) => {
  const { client, url, token, deliveries, openSink } = await qstashHere(postgres);
  const sink = await openSink();
  const keys = await deliveries.signingKeys.get();
  await client.queue({ queueName: 'ruled' }).upsert({ parallelism: 1 });
  const escapes = [
    '../keys/rotate',
    `${sink.url}/../../../../keys/rotate`,
    `${sink.url}/%2e%2e/%2E%2E/%2e%2e/%2e%2e/keys/rotate`,
    `${sink.url}\\..\\..\\..\\..\\keys\\rotate`,
    `${sink.url}/../../../../queues/ruled/pause`,
    `${sink.url}/../../../../dlq/retry?count=100`,
    `${sink.url}/../../../../batch`,
  ];
  for (const escape of escapes) {
    const refusal = expect.objectContaining({ status: 400 }) as Error;
    await expect(client.publish({ url: escape, body: '[]' }), escape).rejects.toEqual(refusal);
    await expect(client.schedules.create({ destination: escape, cron: '* * * * *' }), escape).rejects.toEqual(refusal);
  }
  const bearer = `Authorization: Bearer ${token}`;
  for (const escape of [
    `${sink.url}/../../../../keys/rotate`,
    `${sink.url}/..%2f..%2f..%2fkeys%2frotate?upstash-retries=0&qstash_token=x`,
  ]) {
    expect((await raw(url, `POST /v2/publish/${escape}`, [bearer, 'Upstash-Method: POST']))[0], escape).toBe(201);
  }
  for (const path of [
    '/v2/publish/../keys/rotate',
    '/v2/publish/%2e%2e/keys/rotate',
    '/v2/./keys/rotate',
    '/v2//keys/rotate',
    '/v2/keys%2frotate',
    '/v2\\keys\\rotate',
  ]) {
    expect([400, 404], path).toContain((await raw(url, `POST ${path}`, [bearer]))[0]);
  }
  expect(await deliveries.signingKeys.get()).toEqual(keys);
  expect(await client.queue({ queueName: 'ruled' }).get()).toMatchObject({ paused: false });
  // What was published on the bare socket went to the destination, resolved there and signed as it was written.
  await expect
    .poll(() => sink.arrivals.map(({ path }) => path).toSorted())
    .toEqual(['/..%2f..%2f..%2fkeys%2frotate?upstash-retries=0&qstash_token=x', '/keys/rotate']);
});

test('a token may do what its scope says, and nothing once it is revoked [X.8]', async ({ postgres }) => {
  const { url, deliveries } = await qstashHere(postgres);
  const { id, token } = await deliveries.tokens.create('app', ['publish']);
  const client = clientOf(url, token);
  const { messageId } = await client.publish({ url: 'https://example.com', delay: 3_600 });
  expect(await client.messages.get(messageId)).toMatchObject({ messageId });
  await expect(client.messages.cancel(messageId)).rejects.toMatchObject({ status: 403 });
  await expect(client.messages.get('../keys')).rejects.toMatchObject({ status: 403 });
  await expect(client.logs()).rejects.toMatchObject({ status: 403 });
  await deliveries.tokens.revoke(id);
  await expect(client.publish({ url: 'https://example.com' })).rejects.toMatchObject({
    status: 401,
    message: expect.stringContaining('{"error":"unauthorized') as string,
  });
  await expect(clientOf(url, 'nobody').publish({ url: 'https://example.com' })).rejects.toMatchObject({ status: 401 });
});

test('limits are told as the client understands them: 413, 412, and 429 with when to come back [X.8]', async ({
  postgres,
}) => {
  const here = await qstashHere(postgres);
  const narrow = await here.another({ maxBodyBytes: 100, maxDelayMs: 86_400_000, requestsPerMinute: 3 });
  const client = clientOf(narrow, here.token);
  await expect(client.publish({ url: 'https://example.com', body: 'x'.repeat(101) })).rejects.toMatchObject({
    status: 413,
  });
  await expect(client.publish({ url: 'https://example.com', delay: '2d' })).rejects.toMatchObject({ status: 412 });
  await expect(client.publish({ url: 'http://localhost.invalid:25/' })).rejects.toMatchObject({ status: 400 });
  const refused = await client.publish({ url: 'https://example.com' }).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(QstashRatelimitError);
  expect(refused).toMatchObject({
    status: 429,
    limit: '3',
    remaining: '0',
    reset: expect.stringMatching(/^\d+$/) as string,
  });
});

test('what is not offered is refused with where to read about it [X.8]', async ({ postgres }) => {
  const { client } = await qstashHere(postgres);
  const refusals = [
    client.publishJSON({ api: { name: 'llm' } as never, callback: 'https://example.com', body: {} as never }),
    client.workflow.cancel('run'),
    client.publish({ url: 'https://example.com', headers: { 'Upstash-Cron': '* * * * *' } }),
    client.publish({
      url: 'https://example.com',
      callback: 'https://example.com',
      headers: { 'Upstash-Callback-Delay': '5s' },
    }),
  ];
  for (const refusal of await Promise.allSettled(refusals)) {
    expect(refusal).toMatchObject({ status: 'rejected', reason: { status: 400 } });
  }
});

test('a client with QSTASH_DEV=true takes this server for one of development, and downloads nothing [X.8]', async ({
  postgres,
}) => {
  const here = await qstashHere(postgres);
  const deliveries = withDevCredentials(here.deliveries);
  const url = await here.another({ deliveries });
  // Before the client is: one that finds no such server fetches a program and runs it.
  const probe = await fetch(`${url}/v2/keys`, {
    headers: {
      authorization: `Bearer ${Buffer.from('{"UserID":"defaultUser","Password":"defaultPassword"}').toString('base64')}`,
    },
  });
  expect(await probe.json()).toEqual({
    current: 'sig_7kYjw48mhY7kAjqNGcy6cr29RJ6r',
    next: 'sig_5ZB6DVzB1wjE8S6rZ7eenA8Pdnhs',
  });
  vi.stubEnv('QSTASH_DEV', 'true');
  vi.stubEnv('QSTASH_DEV_PORT', new URL(url).port);
  try {
    const client = new Client();
    const { messageId } = await client.publish({ url: 'https://example.com', delay: 3_600 });
    expect(await client.messages.cancel(messageId)).toEqual({ cancelled: 1 });
    const receiver = new Receiver();
    expect(await deliveries.sender.signingKeys()).toMatchObject({
      current: expect.stringMatching(/^sig_7k/) as string,
    });
    await expect(receiver.verify({ signature: 'none', body: '' })).rejects.toThrow('Invalid Compact JWS');
  } finally {
    vi.unstubAllEnvs();
  }
});
