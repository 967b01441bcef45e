import { randomUUID } from 'node:crypto';
import { type ClientHttp2Session, connect, type IncomingHttpHeaders } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import fastify from 'fastify';
import { expect, onTestFinished, test } from 'vitest';
import { idempotent } from '../../src/fastify/index.ts';
import { idempotency, memoryIdempotency } from '../../src/idempotency/index.ts';
import { Door } from './bench-route.ts';

interface Shop {
  readonly session: ClientHttp2Session;
  readonly door: Door;
  count(): number;
}

async function shop(): Promise<Shop> {
  const app = fastify({ http2: true });
  const idem = idempotency({ service: 'shop', store: memoryIdempotency() });
  const door = new Door();
  let n = 0;
  const pieces = async function* (): AsyncIterable<Uint8Array> {
    yield Buffer.from('do');
    await door.passed;
    yield Buffer.from('ne');
  };
  app.post<{ Body: { how: string } }>(
    '/orders',
    { preHandler: idempotent(idem, { person: 'anyone' }) },
    async ({ body: { how } }, reply) => {
      void reply.code(201).header('x-own', String(++n));
      return how === 'stream' ? reply.type('text/event-stream').send(Readable.from(pieces())) : { n };
    },
  );
  await app.listen({ port: 0, host: '127.0.0.1' });
  const session = connect(`http://127.0.0.1:${(app.server.address() as AddressInfo).port}`);
  onTestFinished(async () => {
    session.destroy();
    await app.close();
  });
  return { session, door, count: () => n };
}

/** Sends an order; one that is cut is given up when the first bytes of the reply are there. */
async function send(
  { session }: Shop,
  { key, how, isCut = false }: { key: string | string[]; how: string; isCut?: boolean },
): Promise<{ readonly headers: IncomingHttpHeaders | undefined; readonly text: string }> {
  const stream = session.request({
    ':method': 'POST',
    ':path': '/orders',
    'content-type': 'application/json',
    'idempotency-key': key,
  });
  let headers: IncomingHttpHeaders | undefined;
  let text = '';
  stream.on('response', (got) => (headers = got));
  stream.end(JSON.stringify({ how }));
  for await (const chunk of stream) {
    text += String(chunk);
    // Leaving the loop gives the stream up.
    if (isCut) break;
  }
  return { headers, text };
}

test('Fastify over HTTP/2: a repetition gets the same reply, two keys are refused, and another body too [S1.1]', async () => {
  const server = await shop();
  const key = randomUUID();
  for (const replayed of ['false', 'true']) {
    expect(await send(server, { key, how: 'plain' })).toMatchObject({
      headers: { ':status': 201, 'x-own': '1', 'idempotent-replayed': replayed },
      text: '{"n":1}',
    });
  }
  expect((await send(server, { key, how: 'other' })).headers).toMatchObject({ ':status': 422 });
  expect((await send(server, { key: ['a', 'b'], how: 'plain' })).headers).toMatchObject({ ':status': 400 });
  expect(server.count()).toBe(1);
});

test('Fastify over HTTP/2: a client that goes away in the middle of a stream finds the whole of it later [X.15]', async () => {
  const server = await shop();
  const key = randomUUID();
  expect((await send(server, { key, how: 'stream', isCut: true })).text).toBe('do');
  expect((await send(server, { key, how: 'stream' })).headers).toMatchObject({ ':status': 409 });
  server.door.open();
  await expect
    .poll(() => send(server, { key, how: 'stream' }))
    .toMatchObject({ headers: { ':status': 201, 'idempotent-replayed': 'true' }, text: 'done' });
  expect(server.count()).toBe(1);
});
