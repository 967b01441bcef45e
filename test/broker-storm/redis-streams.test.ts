import { expect, onTestFinished } from 'vitest';
import { TcpProxy } from '../../src/chaos/tcp-proxy.ts';
import { systemEffects } from '../../src/system/effects.ts';
import { privateRedis } from '../idempotency-stores/private-redis.ts';
import { amount } from '../support/amount.ts';
import { needs } from '../support/needs.ts';
import { outage } from './outage.ts';
import { storm } from './storm.ts';

const test = needs('postgres', 'redisServer');

test(
  'Redis Streams: of thousands of messages none is lost, none has a second effect and keys keep their order, whatever is killed, hung or cut [S0.8] [S1.9] [S1.12]',
  { timeout: 400_000 },
  async ({ postgres, redisServer }) => {
    const redis = await privateRedis(redisServer.url);
    const proxy = await TcpProxy.open({ host: '127.0.0.1', port: redis.port }, systemEffects);
    onTestFinished(() => proxy.close());
    const broker = { kind: 'redis', port: proxy.port } as const;
    const about = { postgres, broker, messages: amount(1_200, 10_000), members: 3, hardTroubles: amount(1, 3) };
    const ledger = await storm({ ...about, server: { ...redis, proxy } });
    console.log(`ledger of Redis Streams: ${JSON.stringify(ledger)}`);
    for (const [what, count] of Object.entries(ledger)) expect(count, what).toBeGreaterThan(0);
  },
);

test(
  'Redis: while it is silent messages wait, memory does not grow with them, and when it goes on each has one effect [S1.5]',
  { timeout: 600_000 },
  async ({ postgres, redisServer }) => {
    const redis = await privateRedis(redisServer.url);
    const report = await outage({ postgres, broker: { kind: 'redis', port: redis.port }, server: redis });
    console.log(`outage of Redis: ${JSON.stringify(report)}`);
  },
);
