import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createSchema, createYoga } from 'graphql-yoga';
import { expect, onTestFinished, test } from 'vitest';
import { idempotent } from '../../src/graphql/index.ts';
import { idempotency, memoryIdempotency } from '../../src/idempotency/index.ts';
import { LeavingClient } from '../idempotency-http/leaving-client.ts';
import { Pauses, type Step } from '../idempotency-http/pauses.ts';

const LARGE = 'x'.repeat(300_000);
const TYPES = 'type Query { n: Int } type Subscription { tick(order: String!): String }';

function personOf({ headers }: Request): string {
  return headers.get('x-person') ?? '';
}

/** A subscription over server-sent events; `runs` has who began one. */
async function shop(pauses: Pauses): Promise<{ url: string; client: LeavingClient; runs: string[] }> {
  const idem = idempotency({ service: 'shop', store: pauses.store(memoryIdempotency()), storeTimeoutMs: 60_000 });
  const runs: string[] = [];
  const subscribe = async function* (_: unknown, { order }: { order: string }): AsyncGenerator<{ tick: string }> {
    runs.push(order);
    await pauses.at('handler', order);
    yield { tick: 'first' };
    await pauses.at('reply', order);
    yield { tick: LARGE };
    yield { tick: 'last' };
  };
  const schema = createSchema({ typeDefs: TYPES, resolvers: { Subscription: { tick: { subscribe } } } });
  const yoga = createYoga({ schema, plugins: [idempotent(idem, { person: personOf })], logging: false });
  const server = createServer((request, response) => void yoga(request, response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/graphql`;
  return { url, client: new LeavingClient(server), runs };
}

test.each(['claim', 'handler', 'reply', 'end'] as const satisfies readonly Step[])(
  'GraphQL: events of a subscription are made to their end when its client leaves (%s), and sent again [X.15]',
  async (step) => {
    const pauses = new Pauses('shop');
    const { url, client, runs } = await shop(pauses);
    const headers = { 'idempotency-key': 'k', 'x-person': 'ada', accept: 'text/event-stream' };
    const body = JSON.stringify({ query: 'subscription { tick(order: "ada") }' });
    const stop = pauses.hold(step, 'ada');
    const sent = client.send(url, headers, body);
    await stop.reached;
    await sent.leave();
    stop.go();
    const again = async (): Promise<unknown> => {
      const all = { ...headers, 'content-type': 'application/json' };
      const response = await fetch(url, { method: 'POST', headers: all, body });
      const ticks = [...(await response.text()).matchAll(/"tick":"(\w+)"/g)].map(([, tick]) => tick);
      return [response.headers.get('idempotent-replayed'), ticks];
    };
    await expect.poll(again).toEqual(['true', ['first', LARGE, 'last']]);
    expect(runs).toEqual(['ada']);
  },
);
