import { Redis } from 'ioredis';
import { describe, expect, onTestFinished } from 'vitest';
import { redisKeyLock } from '../../src/redis/index.ts';
import { rabbitmqBroker } from '../../src/rabbitmq/rabbitmq.ts';
import type { KeyLock, OutboundMessage } from '../../src/transport/index.ts';
import { needs, type TestServer } from '../support/needs.ts';
import { dropTopology } from '../support/rabbitmq-server.ts';

const test = needs('redis', 'rabbitmq');

function lockOf({ url, namespace }: TestServer, about: { holdMs?: number; waitMs?: number } = {}): KeyLock {
  const client = new Redis(url);
  onTestFinished(() => client.disconnect());
  return redisKeyLock({ client, prefix: `${namespace}:`, ...about });
}

describe('keys held in Redis', () => {
  test('have one holder at a time, and a fence that grows from one to the next [S1.9]', async ({ redis }) => {
    const [one, other] = [lockOf(redis), lockOf(redis, { waitMs: 100 })];
    const first = await one.hold(['a', 'b']);
    await expect(other.hold(['b', 'c'])).rejects.toMatchObject({ code: 'KEYS_HELD' });
    const beside = await other.hold(['c']);
    await first.release();
    const second = await other.hold(['a', 'b']);
    for (const key of ['a', 'b'])
      expect(BigInt(second.fences.get(key) ?? 0)).toBeGreaterThan(BigInt(first.fences.get(key) ?? 0));
    await second.release();
    await beside.release();
  });

  test('are kept while their holder lives, and free when it is gone; a late release takes nothing from the next [S1.9]', async ({
    redis,
  }) => {
    const living = await lockOf(redis, { holdMs: 300 }).hold(['held']);
    await expect(lockOf(redis, { waitMs: 900 }).hold(['held'])).rejects.toMatchObject({ code: 'KEYS_HELD' });
    await living.release();
    const client = new Redis(redis.url);
    onTestFinished(() => client.disconnect());
    const dying = new Redis(redis.url);
    await redisKeyLock({ client: dying, prefix: `${redis.namespace}:`, holdMs: 300 }).hold(['left']);
    dying.disconnect();
    await (await lockOf(redis).hold(['left'])).release();
    const late = await lockOf(redis).hold(['late']);
    // As if its time had run out while its process stood still.
    expect(await client.del(`${redis.namespace}:lock:{klate}`)).toBe(1);
    const next = await lockOf(redis).hold(['late']);
    await late.release();
    await expect(lockOf(redis, { waitMs: 50 }).hold(['late'])).rejects.toMatchObject({ code: 'KEYS_HELD' });
    await next.release();
  });

  test('by many at once never block each other for good, and no key has two holders [S1.9]', async ({ redis }) => {
    const locks = Array.from({ length: 4 }, () => lockOf(redis, { waitMs: 30_000 }));
    const holders = new Map<string, number>();
    let most = 0;
    let turns = 0;
    const work = async (lock: KeyLock, from: number): Promise<void> => {
      for (let turn = 0; turn < 15; turn++) {
        const keys = [0, 1, 2].map((step) => `m${(from + turn + step) % 5}`).sort();
        const held = await lock.hold(keys);
        for (const key of keys) most = Math.max(most, (holders.get(key) ?? 0) + 1);
        for (const key of keys) holders.set(key, (holders.get(key) ?? 0) + 1);
        await new Promise((resolve) => setImmediate(resolve));
        for (const key of keys) holders.set(key, (holders.get(key) ?? 0) - 1);
        await held.release();
        turns += 1;
      }
    };
    await Promise.all(locks.map(work));
    expect([most, turns]).toEqual([1, 60]);
  });
});

describe('consumers that share a queue of RabbitMQ', () => {
  test('both take from it, hold the keys of what they store, and hand the fence over with each message [S1.9]', async ({
    redis,
    rabbitmq: { url, namespace },
  }) => {
    const prefix = `${namespace}.`;
    onTestFinished(() => dropTopology(url, prefix, ['order'], ['mail']));
    const storing = new Map<string, number>();
    const taken: string[][] = [[], []];
    const fences: string[] = [];
    let most = 0;
    for (const side of [0, 1]) {
      const broker = rabbitmqBroker({ url, prefix, prefetch: 5, competing: { lock: lockOf(redis) } });
      const consumption = await broker.consume({
        group: 'mail',
        types: ['order.placed'],
        isDead: false,
        onBatch: async (batch) => {
          const keys = [...new Set(batch.map(({ key = '' }) => key))];
          for (const key of keys) storing.set(key, (storing.get(key) ?? 0) + 1);
          most = Math.max(most, ...storing.values());
          await new Promise((resolve) => setImmediate(resolve));
          for (const key of keys) storing.set(key, (storing.get(key) ?? 0) - 1);
          for (const { attributes } of batch) {
            taken[side]?.push(attributes['id'] ?? '');
            fences.push(attributes['fence'] ?? '');
          }
        },
        onPlace: () => undefined,
        onLost: () => undefined,
      });
      onTestFinished(() => consumption.stop());
    }
    // A service that has its queue for itself lives beside them on the same topic.
    const publisher = rabbitmqBroker({ url, prefix });
    expect(await publisher.publish([{ ...message(0), isDead: true }])).toEqual([{ kind: 'published' }]);
    onTestFinished(() => publisher.close());
    const numbers = Array.from({ length: 200 }, (_, n) => n);
    await publisher.publish(numbers.map(message));
    await expect.poll(() => new Set(taken.flat()).size).toBe(200);
    expect(Math.min(...taken.map((ids) => ids.length))).toBeGreaterThan(0);
    expect(most).toBe(1);
    expect(fences.every((fence) => /^\d{15,}$/.test(fence))).toBe(true);
  });
});

function message(n: number): OutboundMessage {
  const attributes = { specversion: '1.0', id: String(n), source: 'test', type: 'order.placed' };
  const body = Buffer.from(String(n));
  return { type: 'order.placed', key: `k${n % 3}`, isDead: false, attributes, headers: {}, body };
}
