import { Producer } from '@platformatic/kafka';
import { onTestFinished } from 'vitest';
import { kafkaBroker, type KafkaOptions } from '../../src/kafka/kafka-transport.ts';
import type { Broker } from '../../src/transport/broker.ts';
import { createTopics } from '../support/kafka-server.ts';
import type { TestServer } from '../support/needs.ts';

let prefixes = 0;

/** A name space of one test at a Kafka, with the topics it names. */
export async function ownTopics({ url, namespace }: TestServer, ...topics: string[]): Promise<KafkaOptions> {
  const prefix = `${namespace}-own${(prefixes += 1)}-`;
  await createTopics(
    url,
    topics.map((topic) => prefix + topic),
  );
  return { brokers: [url], prefix };
}

/** A broker that is closed when the test ends. */
export function openBroker(options: KafkaOptions): Broker {
  const broker = kafkaBroker(options);
  onTestFinished(() => broker.close());
  return broker;
}

/** A producer of foreign make: the bare library. Closed when the test ends. */
export function foreignProducer(url: string, options: object = {}): Producer {
  const producer = new Producer({ clientId: 'foreign', bootstrapBrokers: [url], retries: 3, ...options });
  onTestFinished(() => producer.close());
  return producer;
}
