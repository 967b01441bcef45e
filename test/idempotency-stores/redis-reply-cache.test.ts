import { describe, expect } from 'vitest';
import { redisReplyCache } from '../../src/redis/index.ts';
import { needs } from '../support/needs.ts';
import { digest, newCached } from './new-claim.ts';
import { privateRedis } from './private-redis.ts';
import { CONNECTED_CLIENTS, openIoredis, REDIS_CLIENTS } from './redis-clients.ts';
import { watchTraffic } from './redis-traffic.ts';

const onServer = needs('redis');
const onOwnServer = needs('redisServer');

describe.each(REDIS_CLIENTS)('a cache of replies in Redis through %s', (_, open) => {
  onServer('gives back what was put, byte by byte, and nothing else [S1.3]', async ({ redis: { url, namespace } }) => {
    const cache = redisReplyCache({ client: (await open(url)).client, prefix: `${namespace}:` });
    const bodies = [
      undefined,
      new Uint8Array(),
      Uint8Array.from({ length: 256 }, (__, i) => i),
      new TextEncoder().encode('é😀'),
    ];
    for (const body of bodies) {
      for (const person of [digest(), null]) {
        const { about, cached } = newCached({ person });
        const kept = { ...cached, status: 'failed' as const, reply: { head: '{"é":"😀"}', body } };
        expect(await cache.get(about)).toBeUndefined();
        await cache.put(about, kept, 60_000);
        await cache.put(about, kept, 60_000);
        expect(await cache.get(about)).toEqual(kept);
        expect(await cache.get({ ...about, id: digest() })).toBeUndefined();
        expect(await cache.get({ ...about, person: digest() })).toBeUndefined();
      }
    }
  });

  onServer('keeps nothing for longer than it is told [S1.3]', async ({ redis: { url, namespace } }) => {
    const { client, send } = await open(url);
    const cache = redisReplyCache({ client, prefix: `${namespace}:short:` });
    const [short, none] = [newCached(), newCached()];
    await cache.put(none.about, none.cached, 0);
    expect(await cache.get(none.about)).toBeUndefined();
    await cache.put(short.about, short.cached, 9.5);
    await expect.poll(() => cache.get(short.about)).toBeUndefined();
    await expect.poll(() => send('KEYS', `${namespace}:short:*`)).toEqual([]);
  });

  onServer(
    'erases a person for certain, and keeps what is put for them later out [S1.3]',
    async ({ redis: { url, namespace } }) => {
      const { client, send } = await open(url);
      // Every character that means something in a pattern.
      const prefix = `${namespace}:e*?[a-z]^\\:`;
      const cache = redisReplyCache({ client, prefix });
      const person = digest();
      const theirs = Array.from({ length: 50 }, () => newCached({ person }));
      const others = Array.from({ length: 50 }, () => newCached());
      const nobody = newCached({ person: null });
      // So many that they are not all seen at once.
      await Promise.all(
        Array.from({ length: 3_000 }, (__, n) => send('SET', `${namespace}:junk${n}`, '', 'EX', '600')),
      );
      for (const { about, cached } of [...theirs, ...others, nobody]) await cache.put(about, cached, 600_000);
      await cache.erase(person);
      for (const { about } of theirs) expect(await cache.get(about)).toBeUndefined();
      for (const { about, cached } of [...others, nobody]) expect(await cache.get(about)).toEqual(cached);
      const { about, cached } = newCached({ person });
      await cache.put(about, cached, 600_000);
      expect(await cache.get(about)).toBeUndefined();
      const left = Number(await send('PTTL', `${prefix}e:{${person}}`));
      expect(left).toBeGreaterThan(800_000);
      expect(left).toBeLessThanOrEqual(900_000);
      await send('DEL', `${prefix}e:{${person}}`);
      await cache.put(about, cached, 600_000);
      expect(await cache.get(about)).toEqual(cached);
    },
  );

  onOwnServer('costs one round trip for a question and one for an answer [S1.3]', async ({ redisServer }) => {
    const { url } = await privateRedis(redisServer.url);
    const cache = redisReplyCache({ client: (await open(url)).client });
    const { about, cached } = newCached();
    await cache.put(about, cached, 60_000);
    await cache.get(about);
    const traffic = await watchTraffic(url);
    await cache.put(about, cached, 60_000);
    expect(await traffic.taken()).toEqual(['evalsha']);
    await cache.get(about);
    expect(await traffic.taken()).toEqual(['evalsha']);
  });
});

describe.each(CONNECTED_CLIENTS)('a cache of replies in Redis through %s', (_, open) => {
  onOwnServer('that is gone refuses at once [S1.3]', async ({ redisServer }) => {
    const server = await privateRedis(redisServer.url);
    const { client, isReady } = await open(server.url);
    const cache = redisReplyCache({ client });
    const { about, cached } = newCached();
    await cache.put(about, cached, 60_000);
    await server.kill();
    await expect.poll(isReady).toBe(false);
    const refusal = { code: 'REDIS_NOT_CONNECTED' };
    await expect(cache.get(about)).rejects.toMatchObject(refusal);
    await expect(cache.put(about, cached, 60_000)).rejects.toMatchObject(refusal);
    await expect(cache.erase('somebody')).rejects.toMatchObject(refusal);
  });
});

onServer(
  'a cache erases behind a client of ioredis that puts a prefix before keys [S1.3]',
  async ({ redis: { url, namespace } }) => {
    const { client } = await openIoredis(url, { keyPrefix: `${namespace}:pre[fix]:` });
    const cache = redisReplyCache({ client });
    const { about, cached } = newCached();
    await cache.put(about, cached, 60_000);
    expect(await cache.get(about)).toEqual(cached);
    await cache.erase(about.person ?? '');
    expect(await cache.get(about)).toBeUndefined();
  },
);
