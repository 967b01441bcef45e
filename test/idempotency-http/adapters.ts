import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { getRequestListener } from '@hono/node-server';
import express, { type Request as ExpressRequest, type Response as ExpressResponse } from 'express';
import fastify, { type FastifyRequest } from 'fastify';
import { type Context, Hono } from 'hono';
import { stream as streamBytes, streamText } from 'hono/streaming';
import * as onExpress from '../../src/express/index.ts';
import * as onFastify from '../../src/fastify/index.ts';
import * as onHono from '../../src/hono/index.ts';
import { type Idempotency, idempotent, type Resolution, type RouteOptions } from '../../src/idempotency/index.ts';
import { amount } from '../support/amount.ts';
import { type Streamed, type StreamKind, writeTo } from './streams.ts';

/** What a handler answers, whatever the framework. */
export interface Reply {
  /** Left out, it is what the framework makes of that. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly body?: string | Uint8Array<ArrayBuffer>;
  /** Sent in pieces, each when it is there. */
  readonly pieces?: () => AsyncIterable<Uint8Array>;
  /** Sent as the framework sends such a stream. */
  readonly stream?: Streamed;
}

/** Called with who asks before the guard begins, as a hook that looks the user up. */
export type Auth = (person: string) => Promise<void>;

/** What a handler may do besides answering. */
export interface Work<Tx> {
  readonly path: string;
  readonly method: string;
  readonly body: unknown;
  /** Answers inside a transaction; the handler answers nothing itself then. */
  commit(work: (tx: Tx) => Promise<Reply>): Promise<undefined>;
}

/** The one handler of all routes of a server. */
export type Handle<Tx> = (work: Work<Tx>) => Promise<Reply | undefined>;

/**
 * Options that mean the same in every framework. The person is what the header `x-person` says; a function for unknown outcomes is
 * asked with what the header `x-order` says.
 */
export type CommonOptions = Omit<RouteOptions<never>, 'person' | 'unknown' | 'compare'> & {
  readonly unknown?: 'refuse' | 'rerun' | ((order: string) => Promise<Resolution>) | undefined;
  /** What the route's resolver makes of the header `x-person`, right or wrong. Default: the header. */
  readonly identify?: ((person: string) => unknown) | undefined;
};

/** A server on a port of its own. */
interface Listening {
  readonly url: string;
  readonly server: Server;
  close(): Promise<void>;
}

export interface Adapter {
  readonly name: string;
  readonly streams: readonly StreamKind[];
  serve<Tx>(idem: Idempotency<Tx>, options: CommonOptions, handle: Handle<Tx>, auth?: Auth): Promise<Listening>;
}

export const ADAPTERS: readonly Adapter[] = [
  { name: 'Express', streams: ['node bytes', 'node texts', 'writes', 'pipeline'], serve: serveExpress },
  {
    name: 'Fastify',
    streams: ['node bytes', 'node texts', 'web bytes', 'web texts', 'a Response', 'writes', 'pipeline'],
    serve: serveFastify,
  },
  { name: 'Hono', streams: ['web bytes', 'web texts', 'a Response', 'writes', 'pipeline'], serve: serveHono },
  { name: 'a fetch handler', streams: ['web bytes', 'web texts', 'a Response'], serve: serveFetch },
  // Loaded when they are used: every process that tests start would wait for them.
  {
    name: 'Koa',
    streams: ['node bytes', 'node texts', 'web bytes', 'web texts', 'a Response', 'writes', 'pipeline'],
    serve: async (idem, options, handle, auth) => {
      const { koaApp } = await import('./koa-app.ts');
      return listening(koaApp(idem, routeOptions(options, headerOfNode), handle, auth));
    },
  },
  {
    name: 'Nest on Express',
    streams: ['node bytes', 'node texts', 'writes', 'pipeline'],
    serve: async (idem, options, handle, auth) => {
      const { serveNestOnExpress } = await import('./nest-app.ts');
      return serveNestOnExpress(idem, routeOptions(options, headerOfNode), handle, auth);
    },
  },
  {
    name: 'Nest on Fastify',
    streams: ['node bytes', 'node texts', 'web bytes', 'web texts', 'a Response', 'writes', 'pipeline'],
    serve: async (idem, options, handle, auth) => {
      const { serveNestOnFastify } = await import('./nest-app.ts');
      return serveNestOnFastify(idem, routeOptions(options, headerOfNode), handle, auth);
    },
  },
];

/**
 * Those that are also tried with stores that are away and clocks that differ. What differs from one framework to the next is
 * tried with all of them; Koa and Nest stand on the same response as Express and Fastify, and are here in the full amount only.
 */
export const TRIED_HARDER: readonly Adapter[] = ADAPTERS.slice(0, amount(4, ADAPTERS.length));

/** The options as a framework takes them whose requests have headers that `header` reads. */
function routeOptions<Req>(
  { unknown, identify = (person) => person, ...options }: CommonOptions,
  header: (request: Req, name: string) => string,
): RouteOptions<Req> {
  return {
    ...options,
    person: (request) => identify(header(request, 'x-person')) as string,
    unknown: typeof unknown === 'function' ? (request) => unknown(header(request, 'x-order')) : unknown,
  };
}

export function headerOfNode({ headers }: Pick<ExpressRequest, 'headers'>, name: string): string {
  return String(headers[name]);
}

function headerOf({ headers }: Request, name: string): string {
  return headers.get(name) ?? '';
}

async function serveExpress<Tx>(
  idem: Idempotency<Tx>,
  options: CommonOptions,
  handle: Handle<Tx>,
  auth?: Auth,
): Promise<Listening> {
  const app = express();
  app.use(express.json({ limit: '20mb' }), express.raw({ limit: '20mb' }));
  const guard = onExpress.idempotent(idem, routeOptions<ExpressRequest>(options, headerOfNode));
  app.use(async (request: ExpressRequest, _response: ExpressResponse, next: () => void) => {
    await auth?.(headerOfNode(request, 'x-person'));
    next();
  });
  app.all('/do/:what', guard, async (request: ExpressRequest, response: ExpressResponse) => {
    const send = async ({ status, headers = {}, body, pieces, stream }: Reply): Promise<void> => {
      if (status !== undefined) response.status(status);
      response.set(headers);
      if (stream !== undefined) await writeTo(response, stream);
      else if (pieces !== undefined) Readable.from(pieces()).pipe(response);
      else if (body === undefined) response.end();
      else if (typeof body === 'string') response.send(body);
      else response.send(Buffer.from(body));
    };
    const reply = await handle({
      path: request.path,
      method: request.method,
      body: request.body,
      commit: async (work) => {
        await onExpress.runOf<Tx>(request).commit(async (tx) => send(await work(tx)));
        return undefined;
      },
    });
    if (reply !== undefined) await send(reply);
  });
  // Its own would print every error.
  app.use((_error: unknown, _request: ExpressRequest, response: ExpressResponse, _next: () => void) => {
    response.status(500).type('text').send('it failed');
  });
  return listening(createServer(app));
}

async function serveFastify<Tx>(
  idem: Idempotency<Tx>,
  options: CommonOptions,
  handle: Handle<Tx>,
  auth?: Auth,
): Promise<Listening> {
  const app = fastify({ bodyLimit: 20_000_000, forceCloseConnections: true });
  app.addContentTypeParser('application/octet-stream', { parseAs: 'buffer' }, (_request, body, done) =>
    done(null, body),
  );
  app.all(
    '/do/:what',
    {
      preHandler: [
        async (request: FastifyRequest) => auth?.(headerOfNode(request, 'x-person')),
        onFastify.idempotent(idem, routeOptions<FastifyRequest>(options, headerOfNode)),
      ],
    },
    async (request, reply) => {
      const send = async ({ status, headers = {}, body, pieces, stream }: Reply): Promise<void> => {
        if (status !== undefined) void reply.code(status);
        void reply.headers(headers);
        const plain = typeof body === 'string' ? body : body && Buffer.from(body);
        if (stream !== undefined && ('writes' in stream || 'pipeline' in stream)) {
          reply.hijack();
          reply.raw.writeHead(status ?? 200, headers);
          return writeTo(reply.raw, stream);
        }
        await reply.send(stream ?? (pieces === undefined ? plain : Readable.from(pieces())));
      };
      const made = await handle({
        path: request.url,
        method: request.method,
        body: request.body,
        commit: async (work) => {
          await onFastify.runOf<Tx>(request).commit(async (tx) => send(await work(tx)));
          return undefined;
        },
      });
      if (made !== undefined) await send(made);
      return reply;
    },
  );
  await app.listen({ port: 0, host: '127.0.0.1' });
  return { url: urlOf(app.server), server: app.server, close: async () => app.close() };
}

async function serveHono<Tx>(
  idem: Idempotency<Tx>,
  options: CommonOptions,
  handle: Handle<Tx>,
  auth?: Auth,
): Promise<Listening> {
  const app = new Hono();
  app.use(async (context, next) => {
    await auth?.(headerOf(context.req.raw, 'x-person'));
    await next();
  });
  app.all(
    '/do/:what',
    onHono.idempotent(
      idem,
      routeOptions<Context>(options, ({ req }, name) => headerOf(req.raw, name)),
    ),
    async (context) => {
      const answer = (reply: Reply): Response => withHelper(context, reply) ?? toResponse(reply);
      const work = await fetchWork<Tx>(context.req.raw, (tx) => onHono.runOf<Tx>(context).commit(tx), answer);
      const reply = await handle(work);
      return reply === undefined ? work.committed() : answer(reply);
    },
  );
  app.onError((_error, context) => context.text('it failed', 500));
  return listening(nodeServer(app.fetch));
}

/** What is written bit by bit, by the helpers of Hono. */
function withHelper(context: Context, { stream: streamed, headers = {} }: Reply): Response | undefined {
  if (streamed === undefined || !('writes' in streamed || 'pipeline' in streamed)) return undefined;
  for (const [name, value] of Object.entries(headers)) context.header(name, String(value));
  if ('pipeline' in streamed)
    return streamBytes(context, (to) => to.pipe(Readable.toWeb(streamed.pipeline) as ReadableStream));
  return streamText(context, async (to) => {
    for await (const text of streamed.writes) await to.write(text);
  });
}

async function serveFetch<Tx>(
  idem: Idempotency<Tx>,
  options: CommonOptions,
  handle: Handle<Tx>,
  auth?: Auth,
): Promise<Listening> {
  const guarded = idempotent(idem, routeOptions(options, headerOf), async (request, run) => {
    const work = await fetchWork<Tx>(request, async (made) => run.commit(made), toResponse);
    const reply = await handle(work);
    return reply === undefined ? work.committed() : toResponse(reply);
  });
  return listening(
    nodeServer(async (request) => {
      await auth?.(headerOf(request, 'x-person'));
      return guarded(request);
    }),
  );
}

async function fetchWork<Tx>(
  request: Request,
  commit: (work: (tx: Tx) => Promise<Response>) => Promise<Response>,
  answer: (reply: Reply) => Response,
): Promise<Work<Tx> & { committed(): Response }> {
  const isJson = request.headers.get('content-type')?.includes('json') === true;
  let committed: Response | undefined;
  return {
    path: new URL(request.url).pathname,
    method: request.method,
    body: isJson ? await request.json() : new Uint8Array(await request.arrayBuffer()),
    commit: async (work) => {
      committed = await commit(async (tx) => answer(await work(tx)));
      return undefined;
    },
    committed: () => committed ?? new Response(null, { status: 500 }),
  };
}

function toResponse({ status = 200, headers = {}, body, pieces, stream: streamed }: Reply): Response {
  if (streamed instanceof Response) return streamed;
  const lines = Object.entries(headers).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map((item): [string, string] => [name, item]),
  );
  const made = pieces && (Readable.toWeb(Readable.from(pieces())) as ReadableStream<Uint8Array>);
  return new Response((streamed as ReadableStream | undefined) ?? made ?? body ?? null, { status, headers: lines });
}

async function listening(server: Server): Promise<Listening> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: urlOf(server),
    server,
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function urlOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function nodeServer(handle: (request: Request) => Response | Promise<Response>): Server {
  const listener = getRequestListener((request) => handle(request), {
    errorHandler: () => new Response('it failed', { status: 500 }),
  });
  return createServer((request, response) => void listener(request, response));
}
