import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import { Controller, Module, Post, Req, UseInterceptors } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import fastify, { type FastifyRequest } from 'fastify';
import { Client } from 'pg';
import { describe, expect, onTestFinished } from 'vitest';
import { idempotent as onFastify, runOf as runOfFastify } from '../../src/fastify/index.ts';
import { type AtomicIdempotencyStore, type Idempotency, idempotency } from '../../src/idempotency/index.ts';
import { idempotent as onNest, runOf as runOfNest } from '../../src/nestjs/index.ts';
import { migrate } from '../../src/postgres/index.ts';
import type { SqlTransaction } from '../../src/postgres/sql-runner.ts';
import { openPg, type StoreUnderTest } from '../idempotency-stores/postgres-stores.ts';
import { needs } from '../support/needs.ts';
import { type Adapter, ADAPTERS, type Reply, type Work } from './adapters.ts';
import { call } from './call.ts';
import { streamOf, type STREAMS } from './streams.ts';

const test = needs('postgres');
type Atomic = AtomicIdempotencyStore<SqlTransaction>;
type Place = { readonly url: string; readonly namespace: string };

async function opened({ url, namespace: schema }: Place): Promise<StoreUnderTest> {
  const admin = new Client({ connectionString: url });
  await admin.connect();
  await migrate(admin, { schema });
  await admin.query(`create table if not exists ${schema}.effect (line text)`);
  await admin.end();
  return openPg({ url, schema });
}

async function shop(
  adapter: Adapter,
  postgres: Place,
  handle: (work: Work<SqlTransaction>, under: StoreUnderTest) => Promise<Reply | undefined>,
  wrap: (store: Atomic) => Atomic = (store) => store,
): Promise<{ readonly url: string; readonly under: StoreUnderTest }> {
  const under = await opened(postgres);
  const idem = idempotency({ service: 'shop', store: wrap(under.store) });
  const server = await adapter.serve(idem, { atomic: true }, async (work) => handle(work, under));
  onTestFinished(async () => {
    await server.close();
    await under.close();
  });
  return { url: server.url, under };
}

const TEXT = { 'content-type': 'text/plain; charset=utf-8' };
const WHOLE = ['line 1\n', 'ü€😀\n', 'x'.repeat(100_000)];

async function* texts(): AsyncGenerator<string> {
  yield* WHOLE;
}

describe.each(ADAPTERS)('$name and what commit is given', (adapter) => {
  test(`${adapter.name}: a stream of any kind may be awaited inside commit, and is committed with its effect [X.15]`, async ({
    postgres,
  }) => {
    const { url, under } = await shop(adapter, postgres, async (work, { effect }) => {
      const { line, kind } = work.body as { line: string; kind: (typeof STREAMS)[number] };
      return work.commit(async (tx) => {
        await effect(tx, line);
        return { headers: TEXT, stream: streamOf(kind, texts()) };
      });
    });
    for (const kind of adapter.streams) {
      const body = { line: randomUUID(), kind };
      const key = randomUUID();
      for (const isReplay of [false, true]) {
        const { status, text, ...rest } = await call(url, 'x', { key, body });
        expect([kind, status, text === WHOLE.join(''), rest.isReplay]).toEqual([kind, 200, true, isReplay]);
      }
      expect(await under.effects(body.line)).toBe(1);
    }
  });

  test(`${adapter.name}: a success without commit is refused on an atomic route, and nothing runs again [X.15]`, async ({
    postgres,
  }) => {
    let runs = 0;
    const { url } = await shop(adapter, postgres, async ({ body }) => {
      runs++;
      const { kind } = body as { kind: string };
      if (kind === 'text') return { status: 201, body: 'made' };
      if (kind === 'error') return { status: 404, body: 'no' };
      return { headers: TEXT, stream: streamOf(adapter.streams[0] ?? 'web bytes', texts()) };
    });
    for (const kind of ['text', 'stream']) {
      const key = randomUUID();
      for (const isReplay of [false, true]) {
        const refused = await call(url, 'x', { key, body: { kind } });
        expect([kind, refused]).toMatchObject([kind, { status: 500, problem: 'not-committed', isReplay }]);
      }
    }
    expect(runs).toBe(2);
    expect(await call(url, 'x', { body: { kind: 'error' } })).toMatchObject({ status: 404, text: 'no' });
  });

  test(`${adapter.name}: where a store runs the work again, the reply is that of the last time [X.15]`, async ({
    postgres,
  }) => {
    let runs = 0;
    const again = (store: Atomic): Atomic => ({
      ...store,
      commit: async (claim, work) =>
        store.commit(claim, async (tx) => {
          // As after a serialization failure, whose transaction was rolled back.
          await work(tx);
          return work(tx);
        }),
    });
    const handle = async (work: Work<SqlTransaction>): Promise<undefined> =>
      work.commit(async () => ({ status: 200 + ++runs, headers: { 'x-own': `${runs}` }, body: `run ${runs}` }));
    const { url } = await shop(adapter, postgres, handle, again);
    const key = randomUUID();
    for (const isReplay of [false, true]) {
      const answer = await call(url, 'x', { key });
      expect(answer).toMatchObject({ status: 202, text: 'run 2', isReplay });
      expect(answer.headers.get('x-own')).toBe('2');
    }
    expect(runs).toBe(2);
  });
});

type Order = (tx: SqlTransaction) => Promise<void>;
type Serve = (idem: Idempotency<SqlTransaction>, place: Order) => Promise<string>;

const person = (_request: FastifyRequest): string => 'ada';

async function serveNest(
  kind: 'express' | 'fastify',
  idem: Idempotency<SqlTransaction>,
  place: Order,
): Promise<string> {
  class Orders {
    async do(request: object): Promise<object> {
      return runOfNest<SqlTransaction>(request).commit(async (tx) => {
        await place(tx);
        return { id: 'ord_1' };
      });
    }
  }
  class App {
    readonly name = 'app';
  }
  const method = Object.getOwnPropertyDescriptor(Orders.prototype, 'do') as TypedPropertyDescriptor<unknown>;
  Post('do/x')(Orders.prototype, 'do', method);
  UseInterceptors(onNest(idem, { person, atomic: true }))(Orders.prototype, 'do', method);
  Req()(Orders.prototype, 'do', 0);
  Controller()(Orders);
  Module({ controllers: [Orders] })(App);
  const adapter = kind === 'express' ? new ExpressAdapter() : new FastifyAdapter();
  const app = await NestFactory.create(App, adapter, { logger: false, forceCloseConnections: true });
  onTestFinished(() => app.close());
  await app.listen(0, '127.0.0.1');
  return app.getUrl();
}

async function serveFastify(
  handle: (
    request: FastifyRequest,
    reply: { code(status: number): { send(body: object): object } },
  ) => Promise<unknown>,
  idem: Idempotency<SqlTransaction>,
): Promise<string> {
  const app = fastify({ forceCloseConnections: true });
  app.post('/do/x', { preHandler: onFastify(idem, { person, atomic: true }) }, async (request, reply) =>
    handle(request, reply),
  );
  onTestFinished(() => app.close());
  return app.listen({ port: 0, host: '127.0.0.1' });
}

const BODY = { id: 'ord_1' };

/** Each answers the order with status 201. */
const FORMS: Readonly<Record<string, Serve>> = {
  'Fastify, returning what commit gave': (idem, place) =>
    serveFastify(async (request, reply) => {
      reply.code(201);
      const order = await runOfFastify<SqlTransaction>(request).commit(async (tx) => {
        await place(tx);
        return BODY;
      });
      return order;
    }, idem),
  'Fastify, returning commit itself': (idem, place) =>
    serveFastify(
      async (request, reply) =>
        runOfFastify<SqlTransaction>(request).commit(async (tx) => {
          await place(tx);
          reply.code(201);
          return BODY;
        }),
      idem,
    ),
  'Fastify, returning reply.send inside': (idem, place) =>
    serveFastify(
      async (request, reply) =>
        runOfFastify<SqlTransaction>(request).commit(async (tx) => {
          await place(tx);
          return reply.code(201).send(BODY);
        }),
      idem,
    ),
  'Nest on Express, returning the body': (idem, place) => serveNest('express', idem, place),
  'Nest on Fastify, returning the body': (idem, place) => serveNest('fastify', idem, place),
};

test.for(Object.entries(FORMS))(
  '%s: the body is committed with its effect, and replayed [X.15]',
  async ([_name, serve], { postgres }) => {
    const under = await opened(postgres);
    const line = randomUUID();
    const idem = idempotency({ service: 'shop', store: under.store });
    const url = await serve(idem, async (tx) => under.effect(tx, line));
    onTestFinished(() => under.close());
    const key = randomUUID();
    for (const isReplay of [false, true]) {
      const { status, text, ...rest } = await call(url, 'x', { key });
      expect([status, text ? (JSON.parse(text) as object) : text, rest.isReplay]).toEqual([201, BODY, isReplay]);
    }
    expect(await under.effects(line)).toBe(1);
  },
);

test('Fastify: work that makes no reply is rolled back at once, and the error says where to make it [X.15]', async ({
  postgres,
}) => {
  const under = await opened(postgres);
  const line = randomUUID();
  const url = await serveFastify(
    async (request) => {
      await runOfFastify<SqlTransaction>(request).commit(async (tx) => under.effect(tx, line));
      return BODY;
    },
    idempotency({ service: 'shop', store: under.store }),
  );
  onTestFinished(() => under.close());
  const { status, text } = await call(url, 'x');
  expect([status, JSON.parse(text)]).toMatchObject([500, { code: 'IDEMPOTENCY_REPLY_MISSING' }]);
  expect(await under.effects(line)).toBe(0);
});
