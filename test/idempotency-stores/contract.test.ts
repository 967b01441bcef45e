import { describe, expect, test } from 'vitest';
import { layered, memoryIdempotency } from '../../src/idempotency/index.ts';
import { redisIdempotency, redisReplyCache } from '../../src/redis/index.ts';
import { idempotencyContract } from '../../src/testing/index.ts';
import { needs } from '../support/needs.ts';
import { memoryHarness } from './memory-harness.ts';
import { openIoredis, REDIS_CLIENTS } from './redis-clients.ts';

const cases = idempotencyContract();

describe('idempotency records in memory', () => {
  for (const { name, run } of cases) {
    test(`${name} [S1.3]`, async () => {
      await expect(run(memoryHarness())).resolves.toBeUndefined();
    });
  }
});

describe('idempotency records in memory with replies in Redis before them', () => {
  const onServer = needs('redis');
  let prefixes = 0;
  for (const { name, run } of cases) {
    onServer(`${name} [S1.3]`, async ({ redis: { url, namespace } }) => {
      const { client } = await openIoredis(url);
      const cache = redisReplyCache({ client, prefix: `${namespace}:layered${(prefixes += 1)}:` });
      const store = layered({ cache, truth: memoryIdempotency(), cacheTimeoutMs: 10_000 });
      await expect(run({ store })).resolves.toBeUndefined();
    });
  }
});

for (const [client, open] of REDIS_CLIENTS) {
  describe(`idempotency records in Redis through ${client}`, () => {
    const onServer = needs('redis');
    let prefixes = 0;
    for (const { name, run } of cases) {
      onServer(`${name} [S1.3]`, async ({ redis: { url, namespace } }) => {
        const prefix = `${namespace}:${client}${(prefixes += 1)}:`;
        const store = redisIdempotency({ client: (await open(url)).client, prefix });
        await expect(run({ store })).resolves.toBeUndefined();
      });
    }
  });
}
