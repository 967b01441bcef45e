import { expect } from 'vitest';
import { privateRedis } from '../idempotency-stores/private-redis.ts';
import { amount } from '../support/amount.ts';
import { needs } from '../support/needs.ts';
import { brokerProxy } from './broker-proxy.ts';
import { storm } from './storm.ts';

needs('postgres', 'redisServer')(
  'Redis Streams: of thousands of messages none is lost, none has a second effect and keys keep their order, whatever is killed, hung or cut [S0.8] [S1.9] [S1.12]',
  { timeout: 400_000 },
  async ({ postgres, redisServer }) => {
    const redis = await privateRedis(redisServer.url);
    const proxy = await brokerProxy(redis.port);
    const broker = { kind: 'redis', port: proxy.port } as const;
    const ledger = await storm({
      postgres,
      broker,
      server: { ...redis, proxy },
      messages: amount(2_000, 10_000),
      members: 3,
      hardTroubles: 3,
    });
    console.log(`ledger of Redis Streams: ${JSON.stringify(ledger)}`);
    for (const [what, count] of Object.entries(ledger)) expect(count, what).toBeGreaterThan(0);
  },
);
