import { createServer, type Server } from 'node:http';
import { Readable } from 'node:stream';
import { bodyParser } from '@koa/bodyparser';
import KoaRouter from '@koa/router';
import Koa from 'koa';
import type { Idempotency } from '../../src/idempotency/index.ts';
import { idempotent, type RouteOptions, runOf } from '../../src/koa/index.ts';
import { writeTo } from './streams.ts';
import { type Auth, type Handle, headerOfNode, type Reply } from './adapters.ts';

/** A server of Koa with a router and a parser of bodies. */
export function koaApp<Tx>(
  idem: Idempotency<Tx>,
  options: RouteOptions<Koa.Context>,
  handle: Handle<Tx>,
  auth?: Auth,
): Server {
  const app = new Koa();
  const router = new KoaRouter();
  app.use(async (context, next) => {
    try {
      await next();
    } catch {
      context.status = 500;
      context.body = 'it failed';
    }
  });
  app.use(bodyParser({ jsonLimit: '20mb', enableTypes: ['json'] }));
  app.use(async (context, next) => {
    if (context.is('application/octet-stream')) context.request.body = Buffer.concat(await context.req.toArray());
    await next();
  });
  app.use(async (context, next) => {
    await auth?.(headerOfNode(context.req, 'x-person'));
    await next();
  });
  const guard = idempotent(idem, options);
  router.all('/do/:what', guard, async (context) => {
    const send = async ({ status, headers = {}, body, pieces, stream }: Reply): Promise<void> => {
      if (stream !== undefined && ('writes' in stream || 'pipeline' in stream)) {
        context.respond = false;
        context.res.writeHead(status ?? 200, headers);
        return writeTo(context.res, stream);
      }
      const plain = typeof body === 'object' ? Buffer.from(body) : (body ?? null);
      context.body = stream ?? (pieces === undefined ? plain : Readable.from(pieces()));
      if (status !== undefined) context.status = status;
      context.set(headers as Record<string, string | string[]>);
    };
    const reply = await handle({
      path: context.path,
      method: context.method,
      body: context.request.body,
      commit: async (work) => {
        await runOf<Tx>(context).commit(async (tx) => send(await work(tx)));
        return undefined;
      },
    });
    if (reply !== undefined) await send(reply);
  });
  app.use(router.routes());
  app.silent = true;
  const answer = app.callback();
  return createServer((request, response) => void answer(request, response));
}
