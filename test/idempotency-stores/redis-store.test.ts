import { Redis } from 'ioredis';
import { describe, expect, onTestFinished, test as plainTest, vi } from 'vitest';
import { redisIdempotency } from '../../src/redis/index.ts';
import { needs } from '../support/needs.ts';
import { digest, FINISH, newClaim, rivalOf } from './new-claim.ts';
import { privateRedis } from './private-redis.ts';
import { openIoredis, REDIS_CLIENTS } from './redis-clients.ts';
import { watchTraffic } from './redis-traffic.ts';

const onServer = needs('redis');
const onOwnServer = needs('redisServer');

describe.each(REDIS_CLIENTS)('idempotency records in Redis, by %s', (_, open) => {
  onOwnServer('cost two round trips for a first request, and one for a replay [S1.3]', async ({ redisServer }) => {
    const { url } = await privateRedis(redisServer.url);
    const store = redisIdempotency({ client: (await open(url)).client });
    // The first time a server sees a script, it is asked twice.
    const before = newClaim();
    await store.claim(before);
    await store.end(before, FINISH);
    const traffic = await watchTraffic(url);
    const claim = newClaim();
    await store.claim(claim);
    await store.end(claim, FINISH);
    expect(await traffic.taken()).toEqual(['evalsha', 'evalsha']);
    await store.claim(rivalOf(claim));
    expect(await traffic.taken()).toEqual(['evalsha']);
    await store.renew(claim);
    expect(await traffic.taken()).toEqual(['evalsha', 'eval']);
    await store.renew(claim);
    expect(await traffic.taken()).toEqual(['evalsha']);
  });

  onOwnServer('leave nothing behind that outlives them [S1.3]', async ({ redisServer }) => {
    const { url } = await privateRedis(redisServer.url);
    const { client, send } = await open(url);
    const store = redisIdempotency({ client });
    const person = digest();
    const claims = Array.from({ length: 20 }, () => newClaim({ person }));
    for (const claim of claims) await store.claim(claim);
    for (const claim of claims.slice(10)) await store.end(claim, FINISH);
    const keys = (await send('KEYS', '*')) as string[];
    expect(keys.length).toBeGreaterThan(20);
    for (const key of keys) {
      const left = Number(await send('PTTL', key));
      expect(left, key).toBeGreaterThan(0);
      expect(left, key).toBeLessThanOrEqual(3_600_000);
    }
    await send('FLUSHALL');
    for (const claim of claims) await store.claim({ ...claim, keepMs: 10 });
    for (const claim of claims.slice(10)) await store.end({ ...claim, keepMs: 10 }, FINISH);
    await expect.poll(() => send('DBSIZE')).toBe(0);
    const released = newClaim();
    await store.claim(released);
    await store.end(released, { kind: 'release' });
    expect(await send('DBSIZE')).toBe(0);
  });

  onServer('are erased however many a person has in one place [S1.3]', async ({ redis: { url, namespace } }) => {
    const store = redisIdempotency({ client: (await open(url)).client, prefix: `${namespace}:` });
    const person = digest();
    const claims = Array.from({ length: 450 }, () => newClaim({ person, id: `A${digest().slice(1)}` }));
    await Promise.all(claims.map((claim) => store.end(claim, FINISH)));
    expect(await store.erase(person)).toBe(450);
    expect(await store.erase(person)).toBe(0);
    expect(await store.find(claims[449]?.id ?? '')).toMatchObject({ person: null, reply: null });
  });

  onServer(
    'go by the clock of the server, whatever that of the process says [S1.3]',
    async ({ redis: { url, namespace } }) => {
      const { client, send } = await open(url);
      const store = redisIdempotency({ client, prefix: `${namespace}:` });
      vi.useFakeTimers({ toFake: ['Date'], now: 0 });
      onTestFinished(() => void vi.useRealTimers());
      const claim = newClaim();
      await store.claim(claim);
      const [seconds] = (await send('TIME')) as string[];
      const { createdAt = 0, expiresAt = 0 } = (await store.find(claim.id)) ?? {};
      expect(Math.abs(createdAt / 1000 - Number(seconds))).toBeLessThan(60);
      expect(expiresAt - createdAt).toBe(3_600_000);
    },
  );
});

onServer(
  'a client of ioredis that puts a prefix before keys can be used [S1.3]',
  async ({ redis: { url, namespace } }) => {
    const { client } = await openIoredis(url, { keyPrefix: `${namespace}:own:` });
    const store = redisIdempotency({ client });
    const claim = newClaim();
    await store.claim(claim);
    await store.end(claim, FINISH);
    expect(await store.erase(claim.person ?? '')).toBe(1);
    expect(await store.find(claim.id)).toMatchObject({ status: 'completed', reply: null });
  },
);

onServer(
  'a client that has not connected yet waits for its first connection [S1.3]',
  async ({ redis: { url, namespace } }) => {
    const client = new Redis(url);
    onTestFinished(() => client.disconnect());
    const store = redisIdempotency({ client, prefix: `${namespace}:` });
    expect(await store.claim(newClaim())).toEqual({ kind: 'claimed', run: 1 });
  },
);

plainTest.for<[string, object | undefined]>([
  ['nothing', undefined],
  ['no client', {}],
  ['a URL instead of a client', { client: 'redis://127.0.0.1' }],
  ['an object that is no client', { client: { get: () => undefined } }],
  ['a prefix with braces', { client: { evalsha: () => undefined, eval: () => undefined }, prefix: 'a{b}' }],
  ['an option that is not known', { client: { evalsha: () => undefined, eval: () => undefined }, prefx: 'a' }],
])('%s is refused by redisIdempotency [S1.3]', ([, options]) => {
  expect(() => redisIdempotency(options as never)).toThrow(expect.objectContaining({ code: 'INVALID_OPTIONS' }));
});
