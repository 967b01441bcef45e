import { describe, expect } from 'vitest';
import { privateRedis } from '../idempotency-stores/private-redis.ts';
import { needs } from '../support/needs.ts';
import { TRIED_HARDER } from './adapters.ts';
import { breakableWire } from './breakable-wire.ts';
import type { Answered } from './call.ts';
import { newOrder, openEffects, type Placed, send, settled } from './orders.ts';
import { stepProcess } from './step-process.ts';
import { STEPS } from './steps.ts';

const test = needs('postgres', 'redisServer');
const PROGRAM = new URL('step-server.ts', import.meta.url);
const STORE_DOWN = { status: 503, problem: 'store-down', isReplay: false };

/** Every step that a store can miss. Half a reply is for processes that die. */
const MISSED = STEPS.filter((step) => step !== 'sending');
const ORDERS = ['refuse', 'postgres', 'atomic'].flatMap((route) =>
  MISSED.filter((step) => route !== 'atomic' || !step.startsWith('stream')).map((step) => ({ route, step })),
);

/** Whether an order needs its store again before it can be answered at all: what it writes is written there. */
function needsStore({ route, stopAt }: Placed): boolean {
  return route === 'atomic' && stopAt !== 'before-claim' && stopAt !== 'after-end';
}

describe.each(TRIED_HARDER)('$name whose store is away', (adapter) => {
  describe.each(['killed', 'stopped'] as const)('%s', (how) => {
    test(`${adapter.name}: its store ${how} at any step, nothing that is new runs and nothing runs twice [S1.3] [X.15]`, async ({
      postgres,
      redisServer,
    }) => {
      const effects = await openEffects(postgres);
      const stores = await Promise.all([privateRedis(redisServer.url), breakableWire(postgres.url)]);
      const [redis, wire] = stores;
      const { urls, ...server } = await stepProcess(PROGRAM, {
        adapter: adapter.name,
        redis: { url: redis.url, prefix: 'shop:' },
        effects: effects.place,
        storeUrl: wire.url,
        stops: true,
        leaseMs: 60_000,
        storeTimeoutMs: 450,
      });
      const orders = ORDERS.map(({ route, step }) => newOrder(route, step));
      const answers = new Map<Placed, Answered>();
      const first = orders.map(async (order) => answers.set(order, await send(urls, order)));
      await server.held(orders.length);
      if (how === 'killed') await Promise.all(stores.map((store) => store.kill()));
      else for (const store of stores) store.hang();
      server.go();

      // All of this while the stores are away.
      const ready = orders.filter((order) => !needsStore(order));
      await expect.poll(() => ready.filter((order) => !answers.has(order))).toEqual([]);
      for (const order of ready) {
        const answer = order.stopAt === 'before-claim' ? STORE_DOWN : { status: 201, isReplay: false };
        expect([order, answers.get(order)]).toMatchObject([order, answer]);
        expect([order, await effects.count(order)]).toEqual([order, order.stopAt === 'before-claim' ? 0 : 1]);
      }
      const fresh = [...new Set(ORDERS.map(({ route }) => route))].map((route) => newOrder(route));
      await Promise.all(
        [...orders, ...fresh].map(async (order) => {
          const answer = await send(urls, order);
          expect([order, answer]).toMatchObject([order, STORE_DOWN]);
          expect(answer.headers.get('retry-after')).toBe('1');
        }),
      );
      for (const order of fresh) expect(await effects.count(order)).toBe(0);

      if (how === 'killed') await Promise.all(stores.map((store) => store.start()));
      else for (const store of stores) store.goOn();
      await Promise.all(first);
      await Promise.all(
        [...orders, ...fresh].map(async (order) => {
          const answer = await settled(urls, order);
          expect([order, answer]).toMatchObject([order, { status: 201 }]);
          expect([order, await settled(urls, order)]).toMatchObject([order, { text: answer.text, isReplay: true }]);
          expect([order, await effects.count(order)]).toEqual([order, 1]);
        }),
      );
    });
  });
});
