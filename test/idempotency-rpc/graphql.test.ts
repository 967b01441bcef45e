import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ApolloServer } from '@apollo/server';
import { expressMiddleware } from '@as-integrations/express5';
import express from 'express';
import { createSchema, createYoga } from 'graphql-yoga';
import { describe, expect, onTestFinished, test } from 'vitest';
import * as onApollo from '../../src/apollo/index.ts';
import { idempotent, runOf } from '../../src/graphql/index.ts';
import { type Idempotency, idempotency, memoryIdempotency } from '../../src/idempotency/index.ts';
import { contextOf } from './apollo-app.ts';

interface Shop {
  readonly url: string;
  count(): number;
  open(): void;
}

const TYPES = `type Query { n: Int! } type Mutation { place(item: String!): String! slow: Int! fail: Int childKey: String! }`;
const idem = (): Idempotency<never> => idempotency({ service: 'shop', store: memoryIdempotency() });

/** Starts a server of the given kind that ends with the test. */
type Start = (resolvers: Resolvers, options: { readonly required?: boolean }) => Promise<string>;
type Resolvers = (childKey: (context: never) => string) => Parameters<typeof createSchema>[0]['resolvers'] & object;

const SERVERS: Readonly<Record<string, Start>> = {
  GraphQL: async (resolvers, options) => {
    const schema = createSchema({
      typeDefs: TYPES,
      resolvers: resolvers(({ request }: { request: Request }) => runOf(request).childKey('card')),
    });
    const person = (request: Request): string => request.headers.get('x-person') ?? 'ada';
    const yoga = createYoga({ schema, plugins: [idempotent(idem(), { person, ...options })], logging: false });
    return listening(createServer((request, response) => void yoga(request, response)));
  },
  'Apollo Server': async (resolvers, options) => {
    const plugin = onApollo.idempotent(idem(), {
      person: ({ contextValue }: { contextValue: { person: string } }) => contextValue.person,
      ...options,
    });
    const server = new ApolloServer<{ person: string }>({
      typeDefs: TYPES,
      resolvers: resolvers((context: object) => onApollo.runOf(context).childKey('card')) as never,
      plugins: [plugin],
      formatError: ({ extensions = {} }) => ({ message: 'it failed', extensions: { code: extensions['code'] } }),
    });
    await server.start();
    onTestFinished(() => server.stop());
    const app = express();
    app.use('/graphql', express.json(), expressMiddleware(server, { context: contextOf }));
    return listening(createServer(app));
  },
};

async function listening(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/graphql`;
}

async function shop(start: Start, options: { readonly required?: boolean } = {}): Promise<Shop> {
  let n = 0;
  let open = (): void => undefined;
  const door = new Promise<void>((resolve) => (open = resolve));
  const url = await start(
    (childKey) => ({
      Query: { n: () => n },
      Mutation: {
        place: (_: unknown, { item }: { item: string }) => `${item} ${++n}`,
        slow: async () => {
          n++;
          await door;
          return n;
        },
        fail: () => {
          n++;
          throw new Error('secret details');
        },
        childKey: (_: unknown, _args: unknown, context: never) => childKey(context),
      },
    }),
    options,
  );
  return { url, count: () => n, open };
}

async function ask(
  url: string,
  query: string,
  key?: string,
  more: object = {},
): Promise<{ status: number; replayed: string | null; text: string }> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(key === undefined ? {} : { 'idempotency-key': key }), ...more },
    body: JSON.stringify({ query }),
  });
  return {
    status: response.status,
    replayed: response.headers.get('idempotent-replayed'),
    text: await response.text(),
  };
}

describe.each(Object.entries(SERVERS))('%s', (name, start) => {
  test(`${name}: several mutations under one key are one unit, run once and answered again [S1.1]`, async () => {
    const { url, count } = await shop(start);
    const key = randomUUID();
    const query = 'mutation { a: place(item: "pen") b: place(item: "cup") }';
    const [first, second] = [await ask(url, query, key), await ask(url, query, key)];
    expect(JSON.parse(first.text)).toEqual({ data: { a: 'pen 1', b: 'cup 2' } });
    expect(second).toEqual({ ...first, replayed: 'true' });
    expect(count()).toBe(2);
    expect((await ask(url, 'mutation { a: place(item: "hat") }', key)).status).toBe(422);
    expect((await ask(url, query, key, { 'x-person': 'bob' })).replayed).toBe('false');
  });

  test(`${name}: a mutation without a key is refused before anything runs, and a query needs none [S1.1]`, async () => {
    const { url, count } = await shop(start);
    const refused = await ask(url, 'mutation { place(item: "pen") }');
    expect(refused.status).toBe(400);
    expect(JSON.parse(refused.text)).toMatchObject({ errors: [{ extensions: { code: 'IDEMPOTENCY_KEY_MISSING' } }] });
    expect((await ask(url, 'query Q { n }')).status).toBe(200);
    expect(count()).toBe(0);
    const free = await shop(start, { required: false });
    expect((await ask(free.url, 'mutation { place(item: "pen") }')).status).toBe(200);
  });

  test(`${name}: a repetition of one that runs is told to come again [S1.1]`, async () => {
    const { url, count, open } = await shop(start);
    const key = randomUUID();
    const first = ask(url, 'mutation { slow }', key);
    await expect.poll(count).toBe(1);
    expect((await ask(url, 'mutation { slow }', key)).status).toBe(409);
    open();
    expect(JSON.parse((await first).text)).toEqual({ data: { slow: 1 } });
    expect(count()).toBe(1);
  });

  test(`${name}: errors are answered again as they were, masked ones too [S1.1]`, async () => {
    const { url, count } = await shop(start);
    const key = randomUUID();
    const [first, second] = [await ask(url, 'mutation { fail }', key), await ask(url, 'mutation { fail }', key)];
    expect(second).toEqual({ ...first, replayed: 'true' });
    expect(first.text).not.toContain('secret details');
    expect(count()).toBe(1);
  });

  test(`${name}: resolvers get stable keys for their own calls [S1.1]`, async () => {
    const { url } = await shop(start);
    const keys = [];
    for (const key of ['a', 'b'])
      keys.push(
        (JSON.parse((await ask(url, 'mutation { childKey }', key)).text) as { data: { childKey: string } }).data
          .childKey,
      );
    expect(keys[0]).toMatch(/^[\w-]{43}$/);
    expect(keys[0]).not.toBe(keys[1]);
  });
});
