import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import express from 'express';
import fastify from 'fastify';
import { Hono } from 'hono';
import { expect, onTestFinished, test } from 'vitest';
import { idempotent as onExpress } from '../../src/express/index.ts';
import { type FastifyRequestLike, idempotent as onFastify } from '../../src/fastify/index.ts';
import { idempotent as onHono } from '../../src/hono/index.ts';
import {
  idempotency,
  type IdempotencyEvent,
  idempotent,
  memoryIdempotency,
  type RouteOptions,
} from '../../src/idempotency/index.ts';

interface Route {
  readonly events: IdempotencyEvent[];
  /** Status, and the problem's name or the text. */
  ask(options?: { readonly body?: unknown; readonly path?: string }): Promise<unknown>;
}

type Handler = (request: Request) => unknown;

function route(handler: Handler, options: Partial<RouteOptions<Request>> = {}): Route {
  const events: IdempotencyEvent[] = [];
  const store = memoryIdempotency();
  const idem = idempotency({ service: 'shop', store, observers: [(event) => events.push(event)] });
  const guarded = idempotent(idem, { person: 'anyone', ...options }, handler as () => Response);
  return { events, ask: (asked) => answered(guarded, asked) };
}

async function answered(
  handle: (request: Request) => Promise<Response> | Response,
  { body = { a: 1 }, path = '/orders' }: { readonly body?: unknown; readonly path?: string } = {},
): Promise<unknown> {
  const isStream = body instanceof ReadableStream;
  const headers = { 'idempotency-key': 'k', 'content-type': 'application/json' };
  const request = new Request(`http://shop.example${path}`, {
    method: 'POST',
    headers,
    body: isStream ? body : JSON.stringify(body),
    ...(isStream ? { duplex: 'half' as const } : {}),
  });
  const response = await handle(request);
  const text = await response.text();
  const problem = /urn:holdfast:idempotency:([\w-]+)/.exec(text)?.[1];
  return [response.status, problem ?? text];
}

const UNFIT: Readonly<Record<string, readonly [Handler, string]>> = {
  nothing: [() => undefined, 'nothing'],
  'a plain object': [() => ({ ok: true }), 'something that is no Response'],
  'a response that it has read': [
    async () => {
      const response = new Response('x');
      await response.text();
      return response;
    },
    'a Response whose body was read',
  ],
  'an error of the network': [() => Response.error(), 'a Response of status 0'],
};

test.each(Object.entries(UNFIT))(
  'a handler that returns %s is told so, and has failed for whoever asks again [X.15]',
  async (_name, [handler, found]) => {
    const { ask, events } = route(handler);
    await expect(ask()).rejects.toMatchObject({ code: 'IDEMPOTENCY_NO_RESPONSE', details: { found } });
    expect(await ask()).toEqual([500, 'failed']);
    expect(events.map(({ kind }) => kind)).toEqual(['first', 'finished', 'replayed']);
  },
);

test.each([
  [
    'throws what is no error',
    (): Response => {
      throw 'out of paper';
    },
  ],
  ['returns nothing', (): Response => undefined as unknown as Response],
])('a handler of Hono that %s ends its run [X.15]', async (_name, handler) => {
  const idem = idempotency({ service: 'shop', store: memoryIdempotency() });
  const app = new Hono();
  app.onError((_error, context) => context.text('it failed', 500));
  app.post('/orders', onHono(idem, { person: 'anyone' }), handler);
  const first = await answered(async (request) => app.fetch(request)).catch((error: unknown) => error);
  expect(['out of paper', [500, 'it failed']]).toContainEqual(first);
  expect(await answered(async (request) => app.fetch(request))).toEqual([500, 'failed']);
});

test('a validator of Hono may read the body before the guard, and the handler after it [S1.2]', async () => {
  const idem = idempotency({ service: 'shop', store: memoryIdempotency() });
  const app = new Hono();
  app.use(async (context, next) => {
    if (context.req.path === '/gone') await context.req.raw.text();
    else await context.req.json();
    await next();
  });
  let told: unknown;
  app.onError((error, context) => {
    told = error;
    return context.text('it failed', 500);
  });
  app.post('/*', onHono(idem, { person: 'anyone', maxRequestBytes: 20 }), async (context) =>
    context.text(JSON.stringify(await context.req.json())),
  );
  const ask = async (body: unknown, path?: string): Promise<unknown> =>
    answered(async (request) => app.fetch(request), { body, ...(path === undefined ? {} : { path }) });
  expect(await ask({ a: 1 })).toEqual([200, '{"a":1}']);
  expect(await ask({ a: 2 })).toEqual([422, 'mismatch']);
  expect(await ask({ a: 'x'.repeat(20) })).toEqual([413, 'body-too-large']);
  expect(await ask({ a: 1 }, '/gone')).toEqual([500, 'it failed']);
  expect(told).toMatchObject({ code: 'IDEMPOTENCY_BODY_GONE' });
});

test('a body that was read before its guard is told as the mistake it is [S1.2]', async () => {
  const idem = idempotency({ service: 'shop', store: memoryIdempotency() });
  const guarded = idempotent(idem, { person: 'anyone' }, () => new Response('done'));
  const read = async (request: Request): Promise<Response> => {
    await request.text();
    return guarded(request);
  };
  await expect(answered(read)).rejects.toMatchObject({ code: 'IDEMPOTENCY_BODY_GONE' });
});

test('a body without a length that is too large is refused, and nobody waits for its end [S1.2]', async () => {
  const { ask } = route(() => new Response('done'), { maxRequestBytes: 1_000 });
  const body = new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(600)) });
  expect(await ask({ body })).toEqual([413, 'body-too-large']);
});

test('an address of any length can be guarded, and each is its own [S1.1]', async () => {
  let n = 0;
  const { ask } = route(() => new Response(`${++n}`));
  const long = `/${'a'.repeat(400)}`;
  expect(await ask({ path: long })).toEqual([200, '1']);
  expect(await ask({ path: `${long}b` })).toEqual([200, '2']);
  expect(await ask({ path: long })).toEqual([200, '1']);
});

test('what a route compares may be a promise, as the body of a request is [S1.2]', async () => {
  const { ask } = route((request) => new Response(request.method), {
    compare: async (request) => ((await request.clone().json()) as { id: number }).id,
  });
  expect(await ask({ body: { id: 1, at: 1 } })).toEqual([200, 'POST']);
  expect(await ask({ body: { id: 1, at: 2 } })).toEqual([200, 'POST']);
  expect(await ask({ body: { id: 2, at: 1 } })).toEqual([422, 'mismatch']);
});

test('a route that answers neither a reply nor a word about a lost run leaves it unknown, and says so [X.15]', async () => {
  const { ask, events } = route(() => new Response('done'), {
    keep: () => 'doubt',
    unknown: async () => undefined as never,
  });
  await ask();
  await expect(ask()).rejects.toMatchObject({ code: 'INVALID_OPTIONS', message: expect.stringMatching(/'rerun'/) });
  expect(events.at(-1)).toMatchObject({ kind: 'doubted' });
});

test('a route that answers no verdict of ours about a reply leaves the run in doubt, and says so [X.15]', async () => {
  const { ask, events } = route(() => new Response('done'), { keep: () => 'store' as never });
  await expect(ask()).rejects.toMatchObject({ code: 'INVALID_OPTIONS', message: expect.stringMatching(/'release'/) });
  expect(events.at(-1)).toMatchObject({ kind: 'doubted' });
});

test('somebody who is nobody is refused, and does not share a key with others who are [S1.1]', async () => {
  for (const nobody of ['', undefined]) {
    const { ask, events } = route(() => new Response('done'), { person: () => nobody as string });
    expect(await ask()).toEqual([403, 'person-unknown']);
    expect(events).toEqual([]);
  }
  const { ask } = route(() => new Response('done'), { person: () => 5 as unknown as string });
  await expect(ask()).rejects.toThrow('String(user.id)');
});

test('options that would fail at every request are refused when the route is made [S1.3]', () => {
  const wrong: readonly object[] = [
    { leaseMs: 2 * 86_400_000 },
    { waitMs: -1 },
    { headers: 'x-api-version' },
    { keepHeaders: 'set-cookie' },
    { domain: 'd'.repeat(256) },
  ];
  expect(() => idempotent(undefined as never, { person: 'anyone' }, () => new Response())).toThrow(
    'pass what idempotency({ service, store }) gave',
  );
  for (const options of wrong) {
    expect(() => route(() => new Response(), options)).toThrow(Object.keys(options)[0]);
  }
});

test('what never ends is not read for ever after its client has left [X.15]', async () => {
  const { promise: cancelled, resolve: cancel } = Promise.withResolvers<void>();
  const idem = idempotency({ service: 'shop', store: memoryIdempotency() });
  const guarded = idempotent(idem, { person: 'anyone', maxRunMs: 100 }, () => {
    const pull = async (controller: ReadableStreamDefaultController): Promise<void> => {
      controller.enqueue(new Uint8Array([1]));
      await nextTurn();
    };
    const body = new ReadableStream({ pull, cancel: () => cancel() });
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
  });
  const headers = { 'idempotency-key': 'k' };
  const response = await guarded(new Request('http://shop.example/', { method: 'POST', headers }));
  await response.body?.cancel();
  await expect(cancelled).resolves.toBeUndefined();
});

const TWICE: Readonly<Record<string, () => Promise<(key: string) => Promise<unknown>>>> = {
  Express: async () => {
    const app = express();
    const guard = onExpress(idempotency({ service: 'shop', store: memoryIdempotency() }), { person: 'anyone' });
    app.use(guard);
    app.post('/orders', guard, (_request, response) => void response.send('done'));
    const server = createServer(app as RequestListener).listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => {
      server.close();
      server.closeAllConnections();
    });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/orders`;
    return async (key) => (await fetch(url, { method: 'POST', headers: { 'idempotency-key': key } })).text();
  },
  Fastify: async () => {
    const app = fastify();
    const guard = onFastify(idempotency({ service: 'shop', store: memoryIdempotency() }), {
      person: (_request: FastifyRequestLike) => 'ada',
    });
    app.addHook('preHandler', guard);
    app.post('/orders', { preHandler: guard }, async () => 'done');
    onTestFinished(() => app.close());
    return async (key) => {
      const { body } = await app.inject({ method: 'POST', url: '/orders', headers: { 'idempotency-key': key } });
      return body;
    };
  },
  Hono: async () => {
    const app = new Hono();
    const guard = onHono(idempotency({ service: 'shop', store: memoryIdempotency() }), { person: 'anyone' });
    app.use(guard);
    app.post('/orders', guard, (context) => context.text('done'));
    return async (key) => {
      const headers = { 'idempotency-key': key };
      return (await app.request('/orders', { method: 'POST', headers })).text();
    };
  },
};

test.each(Object.entries(TWICE))('a route of %s that is guarded twice is guarded once [S1.1]', async (_name, make) => {
  const ask = await make();
  expect([await ask('k'), await ask('k')]).toEqual(['done', 'done']);
});
