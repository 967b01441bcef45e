import { afterAll, expect } from 'vitest';
import { TcpProxy } from '../../src/chaos/tcp-proxy.ts';
import { systemEffects } from '../../src/system/effects.ts';
import { amount } from '../support/amount.ts';
import { needs } from '../support/needs.ts';
import { freePort } from '../support/private-server.ts';
import { type PrivateKafka, privateKafka } from '../transport/private-kafka.ts';
import { outage } from './outage.ts';
import { storm } from './storm.ts';

const test = needs('postgres', 'kafkaJars');

/** One for both tests, because it takes its time to start; each leaves it running. */
let server: (PrivateKafka & { readonly proxy: TcpProxy }) | undefined;
afterAll(async () => {
  server?.proxy.close();
  await server?.remove();
});

async function started(jars: string): Promise<PrivateKafka & { readonly proxy: TcpProxy }> {
  if (server) return server;
  const port = await freePort();
  const proxy = await TcpProxy.open({ host: '127.0.0.1', port: port }, systemEffects);
  // Kafka tells its clients where to find it: by the way that can be cut.
  server = { ...(await privateKafka(jars, { port, advertisedPort: proxy.port })), proxy };
  await server.start();
  return server;
}

test(
  'Kafka: of thousands of messages none is lost, none has a second effect and keys keep their order, whatever is killed, hung or cut [S1.5] [S1.9] [S1.12]',
  { timeout: 600_000 },
  async ({ postgres, kafkaJars }) => {
    const kafka = await started(kafkaJars.url);
    await kafka.createTopics('storm', 'storm.dlq');
    const broker = { kind: 'kafka', port: kafka.proxy.port } as const;
    const about = { postgres, broker, messages: amount(1_200, 10_000), members: 3, hardTroubles: amount(1, 2) };
    const ledger = await storm({ ...about, server: kafka });
    console.log(`ledger of Kafka: ${JSON.stringify(ledger)}`);
    for (const [what, count] of Object.entries(ledger)) expect(count, what).toBeGreaterThan(0);
  },
);

test(
  'Kafka: while it is silent messages wait, memory does not grow with them, and when it goes on each has one effect [S1.5]',
  { timeout: 600_000 },
  async ({ postgres, kafkaJars }) => {
    const kafka = await started(kafkaJars.url);
    await kafka.createTopics('outage', 'outage.dlq');
    const report = await outage({ postgres, broker: { kind: 'kafka', port: kafka.proxy.port }, server: kafka });
    console.log(`outage of Kafka: ${JSON.stringify(report)}`);
  },
);
