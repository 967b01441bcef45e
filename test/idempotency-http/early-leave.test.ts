import { connect } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import fastify from 'fastify';
import { expect, onTestFinished, test } from 'vitest';
import { type FastifyRequestLike, idempotent } from '../../src/fastify/index.ts';
import { idempotency, memoryIdempotency } from '../../src/idempotency/index.ts';
import { call } from './call.ts';
import { LeavingClient } from './leaving-client.ts';
import { Pauses, type Step } from './pauses.ts';

test.each(['auth', 'claim', 'handler'] as const satisfies readonly Step[])(
  'Fastify: a handler that returns nothing has answered, also when its client left (%s) [X.15]',
  async (step) => {
    const pauses = new Pauses('shop');
    const idem = idempotency({ service: 'shop', store: pauses.store(memoryIdempotency()), storeTimeoutMs: 60_000 });
    const app = fastify({ forceCloseConnections: true });
    let runs = 0;
    const preHandler = [async () => pauses.at('auth', 'ada'), idempotent(idem, { person: () => 'ada' })];
    app.post('/do/x', { preHandler }, async (_request, reply) => {
      runs++;
      await pauses.at('handler', 'ada');
      void reply.code(204);
    });
    const url = await app.listen({ port: 0, host: '127.0.0.1' });
    onTestFinished(() => app.close());
    const stop = pauses.hold(step, 'ada');
    const sent = new LeavingClient(app.server).send(`${url}/do/x`, { 'idempotency-key': 'k' });
    await stop.reached;
    await sent.leave();
    stop.go();
    await expect.poll(async () => (await call(url, 'x', { key: 'k' })).problem).not.toBe('in-flight');
    expect(await call(url, 'x', { key: 'k' })).toMatchObject({ status: 204, isReplay: true });
    expect(runs).toBe(1);
  },
);

test('Fastify over HTTP/2: a client that has left before the guard begins finds the whole of a stream later [X.15]', async () => {
  const idem = idempotency({ service: 'shop', store: memoryIdempotency() });
  const app = fastify({ http2: true });
  const hooked = Promise.withResolvers<void>();
  let runs = 0;
  const waitForLeaving = async ({
    raw,
  }: {
    raw: { stream: { once(event: 'close', then: () => void): void } };
  }): Promise<void> => {
    if (runs > 0) return;
    const left = new Promise<void>((resolve) => raw.stream.once('close', resolve));
    hooked.resolve();
    await left;
  };
  app.post(
    '/',
    { preHandler: [waitForLeaving, idempotent<never, FastifyRequestLike>(idem, { person: 'anyone' })] },
    async (_request, reply) => {
      runs++;
      return reply
        .code(201)
        .header('x-own', 'a')
        .type('text/plain')
        .send(Readable.from(['do', 'ne']));
    },
  );
  await app.listen({ port: 0, host: '127.0.0.1' });
  const session = connect(`http://127.0.0.1:${(app.server.address() as AddressInfo).port}`);
  onTestFinished(async () => {
    session.destroy();
    await app.close();
  });
  const headers = { ':method': 'POST', ':path': '/', 'content-type': 'application/json', 'idempotency-key': 'k' };
  const first = session.request(headers);
  first.on('error', () => undefined).end('{}');
  await hooked.promise;
  first.destroy();
  await expect.poll(() => runs).toBe(1);
  const again = async (): Promise<unknown> => {
    const stream = session.request(headers);
    let head: Record<string, unknown> = {};
    stream.on('response', (got) => (head = got)).end('{}');
    const text = (await stream.setEncoding('utf8').toArray()).join('');
    return [head[':status'], head['x-own'], head['idempotent-replayed'], text];
  };
  await expect.poll(again).toEqual([201, 'a', 'true', 'done']);
  expect(runs).toBe(1);
});
