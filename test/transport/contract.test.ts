import { describe, expect, test } from 'vitest';
import { redisStreamsBroker } from '../../src/redis/redis-streams.ts';
import { localBroker, transportContract } from '../../src/testing/index.ts';
import { CONNECTED_CLIENTS } from '../idempotency-stores/redis-clients.ts';
import { needs } from '../support/needs.ts';

const cases = transportContract();

describe('a broker in memory', () => {
  for (const { name, run } of cases) {
    test(`${name} [S1.5]`, async () => {
      const broker = localBroker();
      await expect(run({ open: () => broker, tooLarge: 1_048_577 })).resolves.toBeUndefined();
    });
  }
});

for (const [library, open] of CONNECTED_CLIENTS) {
  describe(`Redis Streams through ${library}`, () => {
    const onServer = needs('redis');
    let prefixes = 0;
    for (const { name, run } of cases) {
      onServer(`${name} [S0.8] [S1.5]`, async ({ redis: { url, namespace } }) => {
        const { client } = await open(url);
        const prefix = `${namespace}:streams-${library}${(prefixes += 1)}:`;
        await expect(
          run({ open: () => redisStreamsBroker({ client: client as never, prefix }) }),
        ).resolves.toBeUndefined();
      });
    }
  });
}
