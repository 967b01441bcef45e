import { afterAll, expect, onTestFinished } from 'vitest';
import { TcpProxy } from '../../src/chaos/tcp-proxy.ts';
import { systemEffects } from '../../src/system/effects.ts';
import { amount } from '../support/amount.ts';
import { needs } from '../support/needs.ts';
import { type PrivateRabbitmq, privateRabbitmq } from '../transport/private-rabbitmq.ts';
import { outage } from './outage.ts';
import { storm } from './storm.ts';

const test = needs('postgres', 'rabbitmqServer');

/** One for both tests, because it takes its time to start; each leaves it running. */
let server: PrivateRabbitmq | undefined;
afterAll(() => server?.remove());

async function started(program: string): Promise<PrivateRabbitmq> {
  if (server) return server;
  server = await privateRabbitmq(program);
  await server.start();
  return server;
}

test(
  'RabbitMQ: of thousands of messages none is lost, none has a second effect and keys keep their order, whatever is killed, hung or cut [S1.7] [S1.9] [S1.12]',
  { timeout: 600_000 },
  async ({ postgres, rabbitmqServer }) => {
    const rabbit = await started(rabbitmqServer.url);
    const proxy = await TcpProxy.open({ host: '127.0.0.1', port: Number(new URL(rabbit.url).port) }, systemEffects);
    onTestFinished(() => proxy.close());
    const broker = { kind: 'rabbitmq', port: proxy.port } as const;
    const about = { postgres, broker, messages: amount(1_200, 10_000), members: 3, hardTroubles: amount(1, 2) };
    const ledger = await storm({ ...about, server: { ...rabbit, proxy } });
    console.log(`ledger of RabbitMQ: ${JSON.stringify(ledger)}`);
    for (const [what, count] of Object.entries(ledger)) expect(count, what).toBeGreaterThan(0);
  },
);

test(
  'RabbitMQ: while it is silent messages wait, memory does not grow with them, and when it goes on each has one effect [S1.5]',
  { timeout: 600_000 },
  async ({ postgres, rabbitmqServer }) => {
    const rabbit = await started(rabbitmqServer.url);
    const broker = { kind: 'rabbitmq', port: Number(new URL(rabbit.url).port) } as const;
    const report = await outage({ postgres, broker, server: rabbit });
    console.log(`outage of RabbitMQ: ${JSON.stringify(report)}`);
  },
);
