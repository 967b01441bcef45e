import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import * as grpc from '@grpc/grpc-js';
import { createSchema, createYoga } from 'graphql-yoga';
import { describe, expect, onTestFinished, test } from 'vitest';
import { idempotent } from '../../src/graphql/index.ts';
import { serverInterceptor } from '../../src/grpc/index.ts';
import { type Idempotency, idempotency, memoryIdempotency } from '../../src/idempotency/index.ts';
import { LeavingClient } from '../idempotency-http/leaving-client.ts';
import { Pauses, type Step } from '../idempotency-http/pauses.ts';
import type { Order } from '../idempotency-http/steps.ts';
import { apolloApp } from './apollo-app.ts';
import { SERVICE } from './orders-service.ts';

/** What became of one order, as one who sends it again sees it; `undefined` while it is being carried out. */
type Again = string | undefined;

interface Shop {
  /** Sends an order whose client leaves once `reached` is there, and resolves when the server knows that it has. */
  leave(person: string, reached: Promise<void>): Promise<void>;
  again(person: string): Promise<Again>;
}

type Open = (idem: Idempotency<never>, place: (person: string) => Promise<string>) => Promise<Shop>;

const TYPES = 'type Query { n: Int } type Mutation { place(order: String!, stopAt: String!): String! }';

const SHOPS: Readonly<Record<string, Open>> = {
  GraphQL: async (idem, place) => {
    const resolvers = { Mutation: { place: (_: unknown, { order }: Order) => place(order) } };
    const schema = createSchema({ typeDefs: TYPES, resolvers });
    const person = (request: Request): string => request.headers.get('x-person') ?? '';
    const yoga = createYoga({ schema, plugins: [idempotent(idem, { person })], logging: false });
    return overHttp(createServer((request, response) => void yoga(request, response)));
  },
  'Apollo Server': async (idem, place) =>
    overHttp(createServer(await apolloApp(TYPES, idem, ({ order }) => place(order)))),
  'gRPC, cancelled': (idem, place) => overGrpc(idem, place, 'cancel'),
  'gRPC, past its deadline': (idem, place) => overGrpc(idem, place, 'deadline'),
};

async function overHttp(server: Server): Promise<Shop> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/graphql`;
  const client = new LeavingClient(server);
  const headersOf = (person: string): Record<string, string> => ({ 'idempotency-key': person, 'x-person': person });
  const bodyOf = (person: string): string =>
    JSON.stringify({ query: `mutation { place(order: "${person}", stopAt: "nowhere") }` });
  return {
    leave: async (person, reached) => {
      const sent = client.send(url, headersOf(person), bodyOf(person));
      await reached;
      await sent.leave();
    },
    again: async (person) => {
      const headers = { 'content-type': 'application/json', ...headersOf(person) };
      const response = await fetch(url, { method: 'POST', headers, body: bodyOf(person) });
      const text = await response.text();
      return /in-flight/i.test(text) ? undefined : `${response.status} ${text}`;
    },
  };
}

async function overGrpc(
  idem: Idempotency<never>,
  place: (person: string) => Promise<string>,
  how: 'cancel' | 'deadline',
): Promise<Shop> {
  const person = (metadata: { get(name: string): unknown[] }): string => String(metadata.get('idempotency-key')[0]);
  const guard = serverInterceptor(grpc, idem, { services: [SERVICE], person });
  let gone = Promise.withResolvers<void>();
  // Behind the guard: when it learns that a call is over, the guard has.
  const watch: grpc.ServerInterceptor = (_descriptor, call) =>
    new grpc.ServerInterceptingCall(call, {
      start: (next) => next({ onCancel: () => gone.resolve(), onReceiveMetadata: (metadata, pass) => pass(metadata) }),
    });
  const server = new grpc.Server({ interceptors: [guard, watch] });
  server.addService(SERVICE, {
    place: (call: grpc.ServerUnaryCall<{ order: string }, object>, done: grpc.sendUnaryData<object>) => {
      const answer = async (): Promise<void> => done(null, { text: await place(call.request.order) });
      void answer();
    },
  });
  const port = await promisify(server.bindAsync.bind(server))('127.0.0.1:0', grpc.ServerCredentials.createInsecure());
  const Client = grpc.makeGenericClientConstructor(SERVICE, 'Orders');
  const client = new Client(`127.0.0.1:${port}`, grpc.credentials.createInsecure());
  onTestFinished(() => {
    client.close();
    server.forceShutdown();
  });
  const send = (order: string, deadline?: number): { call: grpc.ClientUnaryCall; answer: Promise<Again> } => {
    const metadata = new grpc.Metadata();
    metadata.set('idempotency-key', order);
    const answered = Promise.withResolvers<Again>();
    const call = (client['place'] as unknown as (...rest: unknown[]) => grpc.ClientUnaryCall).call(
      client,
      { order },
      metadata,
      deadline === undefined ? {} : { deadline },
      (error: grpc.ServiceError | null, reply?: { text: string }) => {
        if (error?.metadata.get('idempotency-problem')[0] === 'in-flight') answered.resolve(undefined);
        else answered.resolve(error ? `${error.code} ${error.details}` : JSON.stringify(reply));
      },
    );
    return { call, answer: answered.promise };
  };
  return {
    leave: async (order, reached) => {
      gone = Promise.withResolvers();
      const { call } = send(order, how === 'deadline' ? Date.now() + 3_000 : undefined);
      await reached;
      if (how === 'cancel') call.cancel();
      await gone.promise;
    },
    again: (order) => send(order).answer,
  };
}

describe.each(Object.entries(SHOPS))('%s and clients that leave', (name, open) => {
  test.each([
    // gRPC does not call a handler whose client has gone, so the key is free for the next call.
    ['while its key is claimed', 'claim'],
    ['while its handler runs', 'handler'],
  ] as const)(
    `${name}: a client that leaves %s wedges no key, and the effect happens once [S1.1] [X.15]`,
    async (_where, step) => {
      const pauses = new Pauses('shop');
      // A claim that took too long would be taken back, whoever waits for it.
      const idem = idempotency({ service: 'shop', store: pauses.store(memoryIdempotency()), storeTimeoutMs: 60_000 });
      let effects = 0;
      const shop = await open(idem, async (person) => {
        effects++;
        await pauses.at('handler', person);
        return `placed ${person}`;
      });
      const stop = pauses.hold(step satisfies Step, 'ada');
      await shop.leave('ada', stop.reached);
      stop.go();
      let again: Again;
      await expect.poll(async () => (again = await shop.again('ada'))).toBeDefined();
      expect(again).toContain('placed ada');
      expect(await shop.again('ada')).toBe(again);
      expect(effects).toBe(1);
    },
  );
});
