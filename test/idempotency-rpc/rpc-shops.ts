import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import * as grpc from '@grpc/grpc-js';
import { GraphQLError } from 'graphql';
import { createSchema, createYoga } from 'graphql-yoga';
import { onTestFinished } from 'vitest';
import { idempotent } from '../../src/graphql/index.ts';
import { serverInterceptor } from '../../src/grpc/index.ts';
import type { Idempotency } from '../../src/idempotency/index.ts';
import { LeavingClient } from '../idempotency-http/leaving-client.ts';
import type { Order } from '../idempotency-http/steps.ts';
import { apolloApp } from './apollo-app.ts';
import { SERVICE } from './orders-service.ts';

/** An order that is refused with a status of its own. */
export class NoStock extends Error {}

/** A server that takes orders, for one handler. */
export interface Shop {
  /** Sends an order whose client leaves once `reached` is there, and resolves when the server knows that it has. */
  leave(order: string, reached: Promise<void>): Promise<void>;
  /** What an order is answered; `undefined` while it is being carried out. */
  ask(order: string): Promise<{ readonly text: string; readonly isReplay: boolean } | undefined>;
}

/** What a shop calls: a hook before the guard, and the handler. */
export interface Calls {
  auth(order: string): Promise<void>;
  /** Nothing is an answer too. */
  place(order: string): Promise<string | null>;
}

const MAX_REPLY_BYTES = 500_000;
const TYPES = 'type Query { n: Int } type Mutation { place(order: String!, stopAt: String!): String }';

async function placeOver(calls: Calls, { order }: Order): Promise<string | null> {
  try {
    return await calls.place(order);
  } catch (error) {
    if (!(error instanceof NoStock)) throw error;
    throw new GraphQLError('no stock', { extensions: { code: 'NO_STOCK', http: { status: 422 } } });
  }
}

/** One of each kind, for the same calls. It ends with the test. */
export const SHOPS: Readonly<Record<string, (idem: Idempotency<never>, calls: Calls) => Promise<Shop>>> = {
  GraphQL: async (idem, calls) => {
    const resolvers = { Mutation: { place: (_: unknown, asked: Order) => placeOver(calls, asked) } };
    const schema = createSchema({ typeDefs: TYPES, resolvers });
    const auth = { onRequest: ({ request }: { request: Request }) => calls.auth(personOf(request)) };
    const guard = idempotent(idem, { person: personOf, maxReplyBytes: MAX_REPLY_BYTES });
    const yoga = createYoga({ schema, plugins: [auth, guard], logging: false });
    return overHttp(createServer((request, response) => void yoga(request, response)));
  },
  'Apollo Server': async (idem, calls) => {
    const app = await apolloApp(TYPES, idem, (asked) => placeOver(calls, asked), {
      auth: (person) => calls.auth(person),
      maxReplyBytes: MAX_REPLY_BYTES,
    });
    return overHttp(createServer(app));
  },
  'gRPC, cancelled': (idem, calls) => overGrpc(idem, calls, 'cancel'),
  'gRPC, past its deadline': (idem, calls) => overGrpc(idem, calls, 'deadline'),
};

function personOf({ headers }: Request): string {
  return headers.get('x-person') ?? '';
}

function headersOf(order: string): Record<string, string> {
  return { 'idempotency-key': order, 'x-person': order };
}

function bodyOf(order: string): string {
  return JSON.stringify({ query: `mutation { place(order: "${order}", stopAt: "nowhere") }` });
}

async function overHttp(server: Server): Promise<Shop> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/graphql`;
  const client = new LeavingClient(server);
  return {
    leave: async (order, reached) => {
      const sent = client.send(url, headersOf(order), bodyOf(order));
      await reached;
      await sent.leave();
    },
    ask: async (order) => {
      const headers = { 'content-type': 'application/json', ...headersOf(order) };
      const response = await fetch(url, { method: 'POST', headers, body: bodyOf(order) });
      const text = await response.text();
      const isReplay = response.headers.get('idempotent-replayed') === 'true';
      return /in-flight/i.test(text) ? undefined : { text: `${response.status} ${text}`, isReplay };
    },
  };
}

/** Tells, by the key of a call, when the server knows that it is over. */
class Endings {
  readonly #gone = new Map<string, PromiseWithResolvers<void>>();

  of(order: string): PromiseWithResolvers<void> {
    const found = this.#gone.get(order) ?? Promise.withResolvers<void>();
    this.#gone.set(order, found);
    return found;
  }
}

function keyOf(metadata: { get(name: string): unknown[] }): string {
  return String(metadata.get('idempotency-key')[0]);
}

async function overGrpc(idem: Idempotency<never>, calls: Calls, how: 'cancel' | 'deadline'): Promise<Shop> {
  const endings = new Endings();
  const guard = serverInterceptor(grpc, idem, { services: [SERVICE], person: keyOf, maxReplyBytes: MAX_REPLY_BYTES });
  const auth: grpc.ServerInterceptor = (_descriptor, call) => {
    let order = '';
    return new grpc.ServerInterceptingCall(call, {
      start: (next) =>
        next({
          onReceiveMetadata: (metadata, pass) => {
            order = keyOf(metadata);
            void calls.auth(order).then(() => pass(metadata));
          },
          // The guard is told in the same turn.
          onCancel: () => setImmediate(() => endings.of(order).resolve()),
        }),
    });
  };
  const server = new grpc.Server({ interceptors: [auth, guard] });
  const answer = async (order: string, done: grpc.sendUnaryData<object>): Promise<void> => {
    try {
      done(null, { text: await calls.place(order) });
    } catch (error) {
      if (error instanceof NoStock) done({ code: grpc.status.FAILED_PRECONDITION, details: 'no stock' });
      else done(error as Error);
    }
  };
  server.addService(SERVICE, {
    place: (call: grpc.ServerUnaryCall<{ order: string }, object>, done: grpc.sendUnaryData<object>) =>
      void answer(call.request.order, done),
  });
  const port = await promisify(server.bindAsync.bind(server))('127.0.0.1:0', grpc.ServerCredentials.createInsecure());
  const Client = grpc.makeGenericClientConstructor(SERVICE, 'Orders');
  const client = new Client(`127.0.0.1:${port}`, grpc.credentials.createInsecure());
  onTestFinished(() => {
    client.close();
    server.forceShutdown();
  });
  return {
    leave: async (order, reached) => {
      const { call } = sendOver(client, order, how === 'deadline' ? Date.now() + 3_000 : undefined);
      await reached;
      if (how === 'cancel') call.cancel();
      await endings.of(order).promise;
    },
    ask: (order) => sendOver(client, order).answer,
  };
}

function sendOver(
  client: grpc.Client,
  order: string,
  deadline?: number,
): { readonly call: grpc.ClientUnaryCall; readonly answer: ReturnType<Shop['ask']> } {
  const metadata = new grpc.Metadata();
  metadata.set('idempotency-key', order);
  const { promise: answer, resolve } = Promise.withResolvers<Awaited<ReturnType<Shop['ask']>>>();
  let isReplay = false;
  const { place } = client as unknown as Record<'place', (...rest: unknown[]) => grpc.ClientUnaryCall>;
  const call = place.call(
    client,
    { order },
    metadata,
    deadline === undefined ? {} : { deadline },
    (error: grpc.ServiceError | null, reply?: { text: string | null }) => {
      const problem = error?.metadata.get('idempotency-problem')[0];
      if (problem === 'in-flight') resolve(undefined);
      else resolve({ text: error ? `${error.code} ${error.details}` : JSON.stringify(reply), isReplay });
    },
  );
  call.on('metadata', (got: grpc.Metadata) => (isReplay = got.get('idempotent-replayed')[0] === 'true'));
  return { call, answer };
}
