import { onTestFinished } from 'vitest';
import { privateRedis } from '../idempotency-stores/private-redis.ts';
import { needs } from '../support/needs.ts';
import { privateKafka } from '../transport/private-kafka.ts';
import { privateRabbitmq } from '../transport/private-rabbitmq.ts';
import { outage } from './outage.ts';

needs('postgres', 'redisServer')(
  'Redis: while it is silent messages wait, memory does not grow with them, and when it goes on each has one effect [S1.5]',
  { timeout: 600_000 },
  async ({ postgres, redisServer }) => {
    const redis = await privateRedis(redisServer.url);
    const report = await outage({ postgres, broker: { kind: 'redis', port: redis.port }, server: redis });
    console.log(`outage of Redis: ${JSON.stringify(report)}`);
  },
);

needs('postgres', 'rabbitmqServer')(
  'RabbitMQ: while it is silent messages wait, memory does not grow with them, and when it goes on each has one effect [S1.5]',
  { timeout: 600_000 },
  async ({ postgres, rabbitmqServer }) => {
    const rabbit = await privateRabbitmq(rabbitmqServer.url);
    onTestFinished(() => rabbit.remove());
    await rabbit.start();
    const broker = { kind: 'rabbitmq', port: Number(new URL(rabbit.url).port) } as const;
    const report = await outage({ postgres, broker, server: rabbit });
    console.log(`outage of RabbitMQ: ${JSON.stringify(report)}`);
  },
);

needs('postgres', 'kafkaJars')(
  'Kafka: while it is silent messages wait, memory does not grow with them, and when it goes on each has one effect [S1.5]',
  { timeout: 600_000 },
  async ({ postgres, kafkaJars }) => {
    const kafka = await privateKafka(kafkaJars.url);
    await kafka.start();
    await kafka.createTopics('outage', 'outage.dlq');
    const broker = { kind: 'kafka', port: Number(kafka.url.split(':')[1]) } as const;
    const report = await outage({ postgres, broker, server: kafka });
    console.log(`outage of Kafka: ${JSON.stringify(report)}`);
  },
);
