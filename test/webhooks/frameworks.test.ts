import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import express, { type Request, type Response } from 'express';
import fastify from 'fastify';
import { Hono } from 'hono';
import { expect, onTestFinished, test } from 'vitest';
import { idempotency, memoryIdempotency } from '../../src/idempotency/index.ts';
import { forExpress, forFastify, qstash, type ReceiveRequest, signedJobs } from '../../src/webhooks/index.ts';
import { KEYS, qstashToken } from './sign.ts';

const BODY = '{"id":7,  "text":"grüße"}';

function job(effects: unknown[]): ReceiveRequest {
  const idem = idempotency({ service: 'jobs', store: memoryIdempotency() });
  const receive = signedJobs({ idempotency: idem, scheme: qstash(KEYS) });
  return receive({ name: 'send-reminder', maxBodyBytes: 1_000 }, (payload) => void effects.push(payload));
}

/** Until all of a small body has come, and nobody has read it. */
async function allOf(request: IncomingMessage): Promise<void> {
  await expect.poll(() => request.complete).toBe(true);
}

const FRAMEWORKS: Readonly<Record<string, (post: ReceiveRequest) => Promise<Server>>> = {
  Express: async (post) => {
    const app = express();
    app.post('/jobs', forExpress(post));
    app.use(express.json());
    return createServer(app);
  },
  'Express after a layer that takes its time': async (post) => {
    const app = express();
    app.use(async (request, _response, next) => {
      await allOf(request);
      next();
    });
    app.post('/jobs', forExpress(post));
    return createServer(app);
  },
  'Fastify after a hook that takes its time': async (post) => {
    const app = fastify();
    app.addHook('onRequest', async ({ raw }) => allOf(raw));
    await app.register(forFastify('/jobs', post));
    await app.ready();
    return app.server;
  },
  'Express with a parser that keeps the bytes': async (post) => {
    const app = express();
    app.use(express.raw({ type: '*/*' }));
    app.post('/jobs', forExpress(post));
    return createServer(app);
  },
  Fastify: async (post) => {
    const app = fastify();
    await app.register(forFastify('/jobs', post));
    app.post('/other', async (request) => request.body);
    await app.ready();
    return app.server;
  },
  Hono: async (post) => {
    const app = new Hono();
    app.post('/jobs', (context) => post(context.req.raw));
    const listener = getRequestListener(app.fetch);
    return createServer((request, response) => void listener(request, response));
  },
  'a route handler of Next': async (post) => {
    const route = { POST: post };
    const listener = getRequestListener((request) => route.POST(request, { params: Promise.resolve({}) }));
    return createServer((request, response) => void listener(request, response));
  },
};

async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test.each(Object.entries(FRAMEWORKS))(
  '%s hands the bytes of a signed job on as they came [S3.2]',
  async (_name, serve) => {
    const effects: unknown[] = [];
    const url = await listen(await serve(job(effects)));
    const send = async (body: string, signed = body): Promise<number> => {
      const headers = {
        'content-type': 'application/json',
        'upstash-signature': qstashToken(signed),
        'upstash-message-id': 'm1',
      };
      return (await fetch(`${url}/jobs`, { method: 'POST', headers, body })).status;
    };
    expect(await send(`${BODY} `, BODY)).toBe(401);
    expect(await send(' '.repeat(1_001))).toBe(489);
    expect(await send(BODY)).toBe(200);
    expect(await send(BODY)).toBe(200);
    expect(effects).toEqual([{ id: 7, text: 'grüße' }]);
  },
);

test('a parser before a signed job is told as the mistake it is [S3.2]', async () => {
  const app = express();
  app.use(express.json());
  app.post('/jobs', forExpress(job([])));
  let told: unknown;
  app.use((error: unknown, _request: Request, response: Response, _next: () => void) => {
    told = error;
    response.status(500).end();
  });
  const url = await listen(createServer(app));
  const headers = {
    'content-type': 'application/json',
    'upstash-signature': qstashToken(BODY),
    'upstash-message-id': 'm1',
  };
  expect((await fetch(`${url}/jobs`, { method: 'POST', headers, body: BODY })).status).toBe(500);
  expect(told).toMatchObject({ code: 'JOB_BODY_PARSED' });
});

test('a body that was read before a signed job is answered by Fastify, which does not leave the sender waiting [S3.2]', async () => {
  const app = fastify();
  app.addHook('preHandler', async ({ raw }) => void (await raw.toArray()));
  await app.register(forFastify('/jobs', job([])));
  await app.ready();
  const url = await listen(app.server);
  const answer = await fetch(`${url}/jobs`, { method: 'POST', body: BODY });
  expect([answer.status, await answer.json()]).toMatchObject([500, { code: 'JOB_BODY_PARSED' }]);
});

test('other routes of the same Fastify keep their parsers [S3.2]', async () => {
  const url = await listen(await (FRAMEWORKS['Fastify'] as (post: ReceiveRequest) => Promise<Server>)(job([])));
  const answer = await fetch(`${url}/other`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: BODY,
  });
  expect(await answer.json()).toEqual({ id: 7, text: 'grüße' });
});

test('a job without a handler, and a route without a job, are refused when they are made [S3.2]', () => {
  const idem = idempotency({ service: 'jobs', store: memoryIdempotency() });
  const receive = signedJobs({ idempotency: idem, scheme: qstash(KEYS) });
  expect(() => receive('send-reminder', undefined as never)).toThrow('pass the function that does the job');
  expect(() => forExpress({ name: 'send-reminder' } as never)).toThrow('pass what receive(job, handler) gave');
  expect(() => forFastify('/jobs', undefined as never)).toThrow('pass what receive(job, handler) gave');
});
