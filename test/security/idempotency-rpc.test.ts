import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { ApolloServer } from '@apollo/server';
import { expressMiddleware } from '@as-integrations/express5';
import * as grpc from '@grpc/grpc-js';
import express from 'express';
import { createSchema, createYoga } from 'graphql-yoga';
import { describe, expect, onTestFinished, test } from 'vitest';
import * as onApollo from '../../src/apollo/index.ts';
import * as onYoga from '../../src/graphql/index.ts';
import { serverInterceptor } from '../../src/grpc/index.ts';
import { idempotency, memoryIdempotency } from '../../src/idempotency/index.ts';
import { SERVICE } from '../idempotency-rpc/orders-service.ts';

/** What came of one call. `refused`: by the guard, for its caller; `broken`: the guard could not go on. */
interface Outcome {
  readonly text: string;
  readonly kind: 'done' | 'refused' | 'broken' | 'mismatch';
  readonly headers: string;
}

interface Shop {
  signIn(key: string, password: string): Promise<Outcome>;
  count(): number;
}

const NOBODY: readonly unknown[] = [null, undefined, '', 'null', 'undefined', 'NaN', '[object Object]'];
const NO_TEXT: readonly unknown[] = [7, true, { id: 'ada' }];
const TYPES = 'type Query { n: Int } type Mutation { signIn(password: String!): String }';

const SHOPS: Readonly<Record<string, (who: unknown) => Promise<Shop>>> = {
  'GraphQL Yoga': async (who) => {
    let n = 0;
    const schema = createSchema({ typeDefs: TYPES, resolvers: { Mutation: { signIn: () => `session ${++n}` } } });
    const idem = idempotency({ service: 'shop', store: memoryIdempotency() });
    const setsToken = {
      onResponse: ({ response: { headers } }: { response: Response }) => {
        if (!headers.has('idempotent-replayed')) headers.set('x-auth-token', 's3cret');
      },
    };
    const guard = onYoga.idempotent(idem, { person: () => who as string });
    const yoga = createYoga({ schema, plugins: [setsToken, guard], logging: false });
    return overHttp(
      (request, response) => void yoga(request, response),
      () => n,
    );
  },
  'Apollo Server': async (who) => {
    let n = 0;
    const idem = idempotency({ service: 'shop', store: memoryIdempotency() });
    const setsToken = {
      requestDidStart: async () => ({
        willSendResponse: async ({ response }: { response: { http: { headers: Map<string, string> } } }) => {
          if (!response.http.headers.has('idempotent-replayed')) response.http.headers.set('x-auth-token', 's3cret');
        },
      }),
    };
    const server = new ApolloServer<object>({
      typeDefs: TYPES,
      resolvers: { Mutation: { signIn: () => `session ${++n}` } },
      plugins: [setsToken, onApollo.idempotent(idem, { person: () => who as string })],
    });
    await server.start();
    onTestFinished(() => server.stop());
    const app = express().use('/graphql', express.json(), expressMiddleware(server, { context: async () => ({}) }));
    return overHttp(app, () => n);
  },
  gRPC: overGrpc,
};

async function overHttp(listener: RequestListener, count: () => number): Promise<Shop> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/graphql`;
  return {
    count,
    signIn: async (key, password) => {
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'idempotency-key': key },
        body: JSON.stringify({
          query: 'mutation ($password: String!) { signIn(password: $password) }',
          variables: { password },
        }),
      });
      const text = await response.text();
      const { status } = response;
      const kind = status === 200 && !text.includes('"errors"') ? 'done' : status === 403 ? 'refused' : undefined;
      return {
        text,
        kind: kind ?? (status === 422 ? 'mismatch' : 'broken'),
        headers: JSON.stringify([...response.headers]),
      };
    },
  };
}

async function overGrpc(who: unknown): Promise<Shop> {
  let n = 0;
  const idem = idempotency({ service: 'shop', store: memoryIdempotency() });
  const guard = serverInterceptor(grpc, idem, { services: [SERVICE], person: () => who as string });
  const server = new grpc.Server({ interceptors: [guard] });
  server.addService(SERVICE, {
    place: (_call: unknown, done: grpc.sendUnaryData<object>) => {
      const trailers = new grpc.Metadata();
      trailers.set('x-auth-token', 's3cret');
      trailers.set('why', 'asked');
      done(null, { text: `session ${++n}` }, trailers);
    },
  });
  const port = await promisify(server.bindAsync.bind(server))('127.0.0.1:0', grpc.ServerCredentials.createInsecure());
  const Client = grpc.makeGenericClientConstructor(SERVICE, 'Orders');
  const client = new Client(`127.0.0.1:${port}`, grpc.credentials.createInsecure());
  onTestFinished(() => {
    client.close();
    server.forceShutdown();
  });
  const { place } = client as unknown as Record<'place', (...rest: unknown[]) => grpc.ClientUnaryCall>;
  return {
    count: () => n,
    signIn: (key, password) =>
      new Promise((resolve) => {
        const metadata = new grpc.Metadata();
        metadata.set('idempotency-key', key);
        let ended: Omit<Outcome, 'headers'> | undefined;
        const sent = place.call(client, { password }, metadata, (error: grpc.ServiceError | null, reply?: object) => {
          const problem = String(error?.metadata.get('idempotency-problem')[0] ?? '');
          const kinds: Readonly<Record<string, Outcome['kind']>> = {
            'person-unknown': 'refused',
            mismatch: 'mismatch',
          };
          ended = { text: JSON.stringify(reply ?? null), kind: error ? (kinds[problem] ?? 'broken') : 'done' };
        });
        sent.on('status', ({ metadata: trailers }: grpc.StatusObject) =>
          setImmediate(() => resolve({ ...(ended as Outcome), headers: JSON.stringify(trailers.toJSON()) })),
        );
      }),
  };
}

describe.each(Object.entries(SHOPS))('%s', (name, open) => {
  test(`${name}: a resolver that names nobody never makes a record that others share`, async () => {
    for (const who of NOBODY) {
      const shop = await open(who);
      expect([who, (await shop.signIn('k', 'x')).kind]).toEqual([who, 'refused']);
      expect([who, (await shop.signIn('k', 'x')).kind, shop.count()]).toEqual([who, 'refused', 0]);
    }
    for (const who of NO_TEXT) {
      const shop = await open(who);
      expect([who, (await shop.signIn('k', 'x')).kind, shop.count()]).toEqual([who, 'broken', 0]);
    }
  });

  test(`${name}: another password is another request, and a replay carries no credential in its headers`, async () => {
    const shop = await open('ada');
    const key = randomUUID();
    const first = await shop.signIn(key, 'right');
    expect(first).toMatchObject({ kind: 'done', headers: expect.stringContaining('s3cret') });
    expect((await shop.signIn(key, 'wrong')).kind).toBe('mismatch');
    const again = await shop.signIn(key, 'right');
    expect(again).toMatchObject({ kind: 'done', text: first.text });
    expect(again.headers).not.toContain('s3cret');
    expect(shop.count()).toBe(1);
  });
});
