import 'reflect-metadata';
import type { Server } from 'node:http';
import { Readable } from 'node:stream';
import { All, Controller, Module, Req, Res, UseInterceptors } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter, type NestExpressApplication } from '@nestjs/platform-express';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { Request, Response } from 'express';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Idempotency } from '../../src/idempotency/index.ts';
import { idempotent, type RouteOptions, runOf } from '../../src/nestjs/index.ts';
import { type Auth, type Handle, headerOfNode, type Reply } from './adapters.ts';
import { writeTo } from './streams.ts';

type AnyRequest = Request | FastifyRequest;

interface Served {
  readonly url: string;
  readonly server: Server;
  close(): Promise<void>;
}

/** A module with one controller. Decorators are called, not written: Node runs these files as they are. */
function moduleOf<Tx>(
  idem: Idempotency<Tx>,
  options: RouteOptions<AnyRequest>,
  handle: Handle<Tx>,
  send: (response: never, reply: Reply) => Promise<void>,
): new () => object {
  class Orders {
    async do(request: AnyRequest, response: never): Promise<void> {
      const reply = await handle({
        path: request.url,
        method: request.method,
        body: request.body,
        commit: async (work) => {
          await runOf<Tx>(request).commit(async (tx) => send(response, await work(tx)));
          return undefined;
        },
      });
      if (reply !== undefined) await send(response, reply);
    }
  }
  class App {
    readonly name = 'app';
  }
  const method = Object.getOwnPropertyDescriptor(Orders.prototype, 'do') as TypedPropertyDescriptor<unknown>;
  All('do/:what')(Orders.prototype, 'do', method);
  UseInterceptors(idempotent(idem, options))(Orders.prototype, 'do', method);
  Req()(Orders.prototype, 'do', 0);
  Res()(Orders.prototype, 'do', 1);
  Controller()(Orders);
  Module({ controllers: [Orders] })(App);
  return App;
}

export async function serveNestOnExpress<Tx>(
  idem: Idempotency<Tx>,
  options: RouteOptions<AnyRequest>,
  handle: Handle<Tx>,
  auth?: Auth,
): Promise<Served> {
  const app = await NestFactory.create<NestExpressApplication>(
    moduleOf(idem, options, handle, async (response: Response, { status, headers = {}, body, pieces, stream }) => {
      if (status !== undefined) response.status(status);
      response.set(headers);
      if (stream !== undefined) await writeTo(response, stream);
      else if (pieces !== undefined) Readable.from(pieces()).pipe(response);
      else if (body === undefined) response.end();
      else response.send(typeof body === 'string' ? body : Buffer.from(body));
    }),
    new ExpressAdapter(),
    { logger: false, forceCloseConnections: true, bodyParser: false },
  );
  app.useBodyParser('json', { limit: '20mb' });
  app.useBodyParser('raw', { limit: '20mb' });
  app.use(async (request: Request, _response: Response, next: () => void) => {
    await auth?.(headerOfNode(request, 'x-person'));
    next();
  });
  await app.listen(0, '127.0.0.1');
  return { url: await app.getUrl(), server: app.getHttpServer(), close: () => app.close() };
}

export async function serveNestOnFastify<Tx>(
  idem: Idempotency<Tx>,
  options: RouteOptions<AnyRequest>,
  handle: Handle<Tx>,
  auth?: Auth,
): Promise<Served> {
  const app = await NestFactory.create<NestFastifyApplication>(
    moduleOf(idem, options, handle, async (response: FastifyReply, { status, headers = {}, body, pieces, stream }) => {
      if (status !== undefined) void response.code(status);
      void response.headers(headers);
      if (stream !== undefined && ('writes' in stream || 'pipeline' in stream)) {
        response.hijack();
        response.raw.writeHead(status ?? 200, headers);
        return writeTo(response.raw, stream);
      }
      const bytes = typeof body === 'string' || body === undefined ? body : Buffer.from(body);
      await response.send(stream ?? (pieces === undefined ? bytes : Readable.from(pieces())));
    }),
    new FastifyAdapter({ bodyLimit: 20_000_000, forceCloseConnections: true }),
    { logger: false, bodyParser: false },
  );
  const instance = app.getHttpAdapter().getInstance();
  instance.addHook('preHandler', async (request) => auth?.(headerOfNode(request, 'x-person')));
  app.useBodyParser('application/json');
  app.useBodyParser('application/octet-stream');
  await app.listen(0, '127.0.0.1');
  return { url: await app.getUrl(), server: app.getHttpServer(), close: () => app.close() };
}
