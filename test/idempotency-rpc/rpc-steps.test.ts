import { status } from '@grpc/grpc-js';
import { describe, expect } from 'vitest';
import { newOrder, openEffects, type Placed } from '../idempotency-http/orders.ts';
import { stepProcess } from '../idempotency-http/step-process.ts';
import type { Step } from '../idempotency-http/steps.ts';
import { privateRedis } from '../idempotency-stores/private-redis.ts';
import { amount } from '../support/amount.ts';
import { needs } from '../support/needs.ts';
import { place, type Told } from './rpc-orders.ts';

const test = needs('postgres', 'redis', 'redisServer');
const PROGRAM = new URL('rpc-step-server.ts', import.meta.url);
const STEPS: readonly Step[] = ['before-claim', 'after-claim', 'before-effect', 'before-end', 'after-end'];
const BEFORE_EFFECT: ReadonlySet<string> = new Set<Step>(['before-claim', 'after-claim', 'before-effect']);

async function settled(urls: Readonly<Record<string, string>>, order: Placed): Promise<Told> {
  let told: Told | undefined;
  const isOver = async (): Promise<boolean> => {
    told = await place(urls, order);
    return told.problem !== 'in-flight' && told.problem !== 'store-down';
  };
  await expect.poll(isOver).toBe(true);
  return told as Told;
}

const PROTOCOLS = [
  { name: 'GraphQL', route: 'graphql', refused: 409, away: 503 },
  { name: 'gRPC', route: 'grpc', refused: status.FAILED_PRECONDITION, away: status.UNAVAILABLE },
  // The same steps as GraphQL, with another way in and out.
  { name: 'Apollo Server', route: 'apollo', refused: 409, away: 503 },
];

describe.each(PROTOCOLS)('$name whose process is killed', ({ name, route, refused }) => {
  test(`${name}: killed at any step, the next process runs what was not claimed, replays what was stored and refuses the rest [X.15]`, async ({
    postgres,
    redis,
  }) => {
    const effects = await openEffects(postgres);
    const stored = {
      redis: { url: redis.url, prefix: `${redis.namespace}:` },
      effects: effects.place,
      leaseMs: 1_000,
      adapter: route,
    };
    const [dying, heir] = await Promise.all([
      stepProcess(PROGRAM, { ...stored, stops: true }),
      stepProcess(PROGRAM, { ...stored, stops: false }),
    ]);
    const orders = STEPS.map((step) => newOrder(route, step));
    const first = orders.map((order) => place(dying.urls, order));
    await dying.held(orders.length);
    await dying.kill();
    expect((await Promise.all(first)).map(({ problem }) => problem)).toEqual(STEPS.map(() => 'cut'));
    await Promise.all(
      orders.map(async (order) => {
        const { stopAt } = order;
        const had = BEFORE_EFFECT.has(stopAt) ? 0 : 1;
        expect([stopAt, await effects.count(order)]).toEqual([stopAt, had]);
        const isKnown = stopAt === 'before-claim' || stopAt === 'after-end';
        const told = isKnown
          ? { text: `placed ${order.order}`, isReplay: stopAt === 'after-end' }
          : { text: undefined, isReplay: false, problem: 'unknown-outcome', status: refused };
        expect([stopAt, await settled(heir.urls, order)]).toMatchObject([stopAt, told]);
        expect([stopAt, await effects.count(order)]).toEqual([stopAt, stopAt === 'before-claim' ? 1 : had]);
      }),
    );
  });
});

describe.each(PROTOCOLS.slice(0, amount(2, 3)))('$name and its store', ({ name, route, away }) => {
  test.for(['killed', 'stopped'] as const)(
    `${name}: its store %s at any step, nothing that is new runs and nothing runs twice [S1.3]`,
    async (how, { postgres, redisServer }) => {
      const effects = await openEffects(postgres);
      const redis = await privateRedis(redisServer.url);
      const { urls, ...server } = await stepProcess(PROGRAM, {
        redis: { url: redis.url, prefix: 'shop:' },
        effects: effects.place,
        stops: true,
        leaseMs: 60_000,
        adapter: route,
        storeTimeoutMs: 450,
      });
      const orders = STEPS.map((step) => newOrder(route, step));
      const first = orders.map((order) => place(urls, order));
      await server.held(orders.length);
      if (how === 'killed') await redis.kill();
      else redis.hang();
      server.go();
      const met = await Promise.all(first);
      const down = { text: undefined, isReplay: false, problem: 'store-down', status: away };
      const done = orders.map(({ order }) => ({ text: `placed ${order}`, isReplay: false, problem: undefined }));
      expect(met).toMatchObject([down, ...done.slice(1)]);
      const fresh = newOrder(route);
      const again = await Promise.all([...orders, fresh].map((order) => place(urls, order)));
      expect(again).toEqual([...orders, fresh].map(() => down));
      if (how === 'killed') await redis.start();
      else redis.goOn();
      await Promise.all(
        [...orders, fresh].map(async (order) => {
          const { text } = await settled(urls, order);
          expect(text).toBe(`placed ${order.order}`);
          expect(await settled(urls, order)).toMatchObject({ text, isReplay: true });
          expect([order, await effects.count(order)]).toEqual([order, 1]);
        }),
      );
    },
  );
});
