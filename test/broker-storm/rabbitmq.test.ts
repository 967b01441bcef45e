import { expect, onTestFinished } from 'vitest';
import { amount } from '../support/amount.ts';
import { needs } from '../support/needs.ts';
import { privateRabbitmq } from '../transport/private-rabbitmq.ts';
import { brokerProxy } from './broker-proxy.ts';
import { storm } from './storm.ts';

needs('postgres', 'rabbitmqServer')(
  'RabbitMQ: of thousands of messages none is lost, none has a second effect and keys keep their order, whatever is killed, hung or cut [S1.7] [S1.9] [S1.12]',
  { timeout: 600_000 },
  async ({ postgres, rabbitmqServer }) => {
    const rabbit = await privateRabbitmq(rabbitmqServer.url);
    onTestFinished(() => rabbit.remove());
    await rabbit.start();
    const proxy = await brokerProxy(Number(new URL(rabbit.url).port));
    const broker = { kind: 'rabbitmq', port: proxy.port } as const;
    const about = { postgres, broker, messages: amount(2_000, 10_000), members: 3, hardTroubles: amount(1, 2) };
    const ledger = await storm({ ...about, server: { ...rabbit, proxy } });
    console.log(`ledger of RabbitMQ: ${JSON.stringify(ledger)}`);
    for (const [what, count] of Object.entries(ledger)) expect(count, what).toBeGreaterThan(0);
  },
);
