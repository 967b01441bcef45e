import { describe, expect } from 'vitest';
import { checkRedis, redisIdempotency, redisReplyCache } from '../../src/redis/index.ts';
import { checkAgainstRules, idempotencyContract } from '../../src/testing/index.ts';
import { SeededRandom } from '../simulation/seeded-random.ts';
import { needs } from '../support/needs.ts';
import { newCached } from './new-claim.ts';
import { openIoredis } from './redis-clients.ts';
import { CLUSTER_CLIENTS, startCluster } from './redis-cluster.ts';

const test = needs('redisServer');

describe.each(CLUSTER_CLIENTS)('a cluster of Redis through %s', (_, open) => {
  test('keeps every promise of an idempotency store [S1.3]', async ({ redisServer }) => {
    const ports = await startCluster(redisServer.url);
    const client = await open(ports);
    const broken: unknown[] = [];
    for (const [n, { name, run }] of idempotencyContract().entries()) {
      const store = redisIdempotency({ client, prefix: `${n}:` });
      await run({ store }).catch((error: unknown) => broken.push([name, error]));
    }
    expect(broken).toEqual([]);
    const random = new SeededRandom(1);
    await checkAgainstRules({ store: redisIdempotency({ client }) }, { random: () => random.next() });
    for (const port of ports) {
      const { send } = await openIoredis(`redis://127.0.0.1:${port}`);
      expect(await send('DBSIZE')).toBeGreaterThan(0);
    }
  });

  test('is looked at server by server [S1.3]', async ({ redisServer }) => {
    const ports = await startCluster(redisServer.url);
    const client = await open(ports);
    expect(await checkRedis({ client })).toEqual([]);
    for (const [n, port] of ports.entries()) {
      const { send } = await openIoredis(`redis://127.0.0.1:${port}`);
      await send('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru');
      expect((await checkRedis({ client })).map(({ kind }) => kind)).toEqual(Array(n + 1).fill('evicts'));
    }
  });

  test('keeps replies, and erases those of a person [S1.3]', async ({ redisServer }) => {
    const client = await open(await startCluster(redisServer.url));
    const cache = redisReplyCache({ client });
    const entries = Array.from({ length: 30 }, newCached);
    for (const { about, cached } of entries) await cache.put(about, cached, 60_000);
    for (const { about, cached } of entries) expect(await cache.get(about)).toEqual(cached);
    for (const { about } of entries) await cache.erase(about.person ?? '');
    for (const { about } of entries) expect(await cache.get(about)).toBeUndefined();
  });
});
