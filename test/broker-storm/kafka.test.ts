import { expect } from 'vitest';
import { amount } from '../support/amount.ts';
import { needs } from '../support/needs.ts';
import { freePort } from '../support/private-server.ts';
import { privateKafka } from '../transport/private-kafka.ts';
import { brokerProxy } from './broker-proxy.ts';
import { storm } from './storm.ts';

needs('postgres', 'kafkaJars')(
  'Kafka: of thousands of messages none is lost, none has a second effect and keys keep their order, whatever is killed, hung or cut [S1.5] [S1.9] [S1.12]',
  { timeout: 600_000 },
  async ({ postgres, kafkaJars }) => {
    const port = await freePort();
    const proxy = await brokerProxy(port);
    // Kafka tells its clients where to find it: by the way that can be cut.
    const kafka = await privateKafka(kafkaJars.url, { port, advertisedPort: proxy.port });
    await kafka.start();
    await kafka.createTopics('storm', 'storm.dlq');
    const broker = { kind: 'kafka', port: proxy.port } as const;
    const about = { postgres, broker, messages: amount(2_000, 10_000), members: 3, hardTroubles: amount(1, 2) };
    const ledger = await storm({ ...about, server: { ...kafka, proxy } });
    console.log(`ledger of Kafka: ${JSON.stringify(ledger)}`);
    for (const [what, count] of Object.entries(ledger)) expect(count, what).toBeGreaterThan(0);
  },
);
