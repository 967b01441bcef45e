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

  onOwnServer('of nobody in particular are claimed by a plain command [S1.3]', async ({ redisServer }) => {
    const { url } = await privateRedis(redisServer.url);
    const store = redisIdempotency({ client: (await open(url)).client });
    for (const person of [null, digest()]) {
      const before = newClaim({ person });
      await store.claim(before);
      await store.end(before, FINISH);
    }
    const traffic = await watchTraffic(url);
    const claim = newClaim({ person: null });
    await store.claim(claim);
    // Who runs, and for how long, only a script can tell.
    expect(await store.claim(rivalOf(claim))).toMatchObject({ kind: 'running' });
    await store.end(claim, FINISH);
    expect(await traffic.taken()).toEqual(['set', 'set', 'evalsha', 'evalsha']);
    expect(await store.claim(rivalOf(claim))).toMatchObject({ kind: 'finished' });
    expect(await store.claim(rivalOf(claim, { fingerprint: digest() }))).toEqual({ kind: 'mismatch' });
    expect(await traffic.taken()).toEqual(['set', 'set']);
  });

  onOwnServer('begin when they were claimed, however long the run took [S1.3]', async ({ redisServer }) => {
    const { url } = await privateRedis(redisServer.url);
    const { client, send } = await open(url);
    const store = redisIdempotency({ client });
    const claim = newClaim({ person: null });
    await store.claim(claim);
    const first = await store.find(claim.id);
    const clock = async (): Promise<number> => Number(((await send('TIME')) as string[])[0]);
    const claimedAt = await clock();
    await expect.poll(clock).toBeGreaterThan(claimedAt);
    await store.end({ ...claim, keepMs: 7_200_000 }, FINISH);
    const { createdAt = 0, updatedAt = 0, expiresAt = 0 } = (await store.find(claim.id)) ?? {};
    expect([createdAt, expiresAt - updatedAt]).toEqual([first?.createdAt, 7_200_000]);
    expect(updatedAt).toBeGreaterThan(createdAt);
  });

  onOwnServer('that are not such as we write are refused, and left alone [S1.3]', async ({ redisServer }) => {
    const { url } = await privateRedis(redisServer.url);
    const { client, send } = await open(url);
    const store = redisIdempotency({ client });
    const texts = ['', 'x', '0p\na\nb\n1\n\n\nc\n1\n2\n3\n4\n', '1x\n\n\n\n\n\n\n\n\n\n\n', '1c\nowner\nfinger'];
    for (const [claim, text] of texts.flatMap((one) =>
      [null, digest()].map((who) => [newClaim({ person: who }), one] as const),
    )) {
      await store.claim(claim);
      const [key = ''] = ((await send('KEYS', `*:${claim.id}`)) as string[]) ?? [];
      await send('SET', key, text);
      const steps = [store.claim(claim), store.renew(claim), store.end(claim, FINISH), store.find(claim.id)];
      const settled = await Promise.allSettled(steps);
      expect([text, settled.map(({ status }) => status)]).toEqual([text, steps.map(() => 'rejected')]);
      expect(await send('GET', key)).toBe(text);
    }
  });

  onOwnServer('of nobody are claimed by a script where the server is older [S1.3]', async ({ redisServer }) => {
    const { url } = await privateRedis(redisServer.url);
    const { client, send } = await open(url);
    // As version 6 answers.
    const refuse = async (): Promise<never> => Promise.reject(new Error('ERR syntax error'));
    const { evalSha } = client as { evalSha?: unknown };
    const older = evalSha
      ? { evalSha: bound(client, 'evalSha'), eval: bound(client, 'eval'), set: refuse }
      : {
          ...upstashMark(client),
          status: 'ready',
          evalsha: bound(client, 'evalsha'),
          eval: bound(client, 'eval'),
          set: refuse,
        };
    const store = redisIdempotency({ client: older as never });
    const claim = newClaim({ person: null });
    expect(await store.claim(claim)).toEqual({ kind: 'claimed', run: 1 });
    expect(await store.claim(rivalOf(claim))).toMatchObject({ kind: 'running' });
    expect(await store.end(claim, FINISH)).toBe('ended');
    expect(await store.claim(rivalOf(claim))).toMatchObject({ kind: 'finished', reply: { head: '{"status":201}' } });
    // Nothing that only version 7 has was used.
    expect(String(await send('INFO', 'commandstats'))).not.toContain('cmdstat_pexpiretime');
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

/** By which a client of @upstash/redis is known; nothing of the others. */
const upstashMark = (client: object): object => ('createScript' in client ? { createScript: () => undefined } : {});

function bound(client: object, name: string): unknown {
  return (Reflect.get(client, name) as () => unknown).bind(client);
}

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
