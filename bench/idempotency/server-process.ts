// node server-process.ts <framework> <guard> <redis url>
//
// One server of the bench in a process of its own: a route that answers a small JSON, with a guard before it or none. Prints its port.
import type { AddressInfo } from 'node:net';
import { Idempotency } from '@node-idempotency/core';
import { RedisStorageAdapter } from '@node-idempotency/storage-adapter-redis';
import express, { type NextFunction, type Request, type Response } from 'express';
import { idempotency as expressIdempotency, getSharedIdempotencyService } from 'express-idempotency';
import fastify from 'fastify';
import { idempotent as onExpress } from 'holdfast/express';
import { idempotent as onFastify } from 'holdfast/fastify';
import { idempotency } from 'holdfast/idempotency';
import { redisIdempotency } from 'holdfast/redis';
import { createClient } from 'redis';

/** What guards the route. */
export type Guard = 'none' | 'holdfast' | '@node-idempotency/core' | 'express-idempotency';

const [, , framework, guard, redisUrl = ''] = process.argv;
const REPLY = { id: 'ord_1', items: ['pen', 'cup'], total: 17.5, currency: 'EUR' };

async function ours(): Promise<ReturnType<typeof idempotency>> {
  const client = await createClient({ url: redisUrl }).connect();
  return idempotency({ service: 'bench', store: redisIdempotency({ client }) });
}

async function theirs(): Promise<Idempotency> {
  const storage = new RedisStorageAdapter({ url: redisUrl });
  await storage.connect();
  return new Idempotency(storage, { enforceIdempotency: true });
}

/** What their plugins do: ask before the handler, tell after it. */
interface Exchange {
  readonly headers: Record<string, unknown>;
  readonly path: string;
  readonly method: string;
  readonly body: Record<string, unknown>;
}

function handler(_request: Request, response: Response): void {
  response.status(201).json(REPLY);
}

async function serveExpress(): Promise<number> {
  const app = express();
  app.disable('x-powered-by').disable('etag').use(express.json());
  if (guard === 'holdfast') app.post('/orders', onExpress(await ours(), { person: 'anyone' }), handler);
  else if (guard === 'express-idempotency') {
    app.post('/orders', expressIdempotency(), (request: Request, response: Response) => {
      if (!getSharedIdempotencyService().isHit(request)) handler(request, response);
    });
  } else if (guard === '@node-idempotency/core') {
    const peer = await theirs();
    app.post(
      '/orders',
      async (request: Request, response: Response, next: NextFunction) => {
        const exchange = exchangeOf(request.headers, request.path, request.body as Record<string, unknown>);
        const found = await peer.onRequest<typeof REPLY, unknown>(exchange);
        if (found !== undefined) return void response.status(201).json(found.body);
        await peer.onResponse(exchange, { body: REPLY });
        next();
      },
      handler,
    );
  } else app.post('/orders', handler);
  return new Promise((resolve) => {
    const server = app.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
}

async function serveFastify(): Promise<number> {
  const app = fastify();
  if (guard === '@node-idempotency/core') {
    const peer = await theirs();
    app.post('/orders', async (request, reply) => {
      const exchange = exchangeOf(request.headers, request.url, request.body as Record<string, unknown>);
      const found = await peer.onRequest<typeof REPLY, unknown>(exchange);
      reply.code(201);
      if (found !== undefined) return found.body;
      await peer.onResponse(exchange, { body: REPLY });
      return REPLY;
    });
  } else {
    const hooks = guard === 'holdfast' ? { preHandler: onFastify(await ours(), { person: 'anyone' }) } : {};
    app.post('/orders', hooks, async (_request, reply) => {
      reply.code(201);
      return REPLY;
    });
  }
  await app.listen({ port: 0, host: '127.0.0.1' });
  return (app.server.address() as AddressInfo).port;
}

function exchangeOf(headers: Record<string, unknown>, path: string, body: Record<string, unknown>): Exchange {
  return { headers, path, method: 'POST', body };
}

console.log(await (framework === 'Express' ? serveExpress() : serveFastify()));
// The bench is over, or gone.
process.once('disconnect', () => process.exit());
