import { Producer } from '@platformatic/kafka';
import { onTestFinished } from 'vitest';
import { kafkaBroker, type KafkaOptions } from '../../src/kafka/kafka-transport.ts';
import { newId } from '../../src/system/new-id.ts';
import type {
  Broker,
  ConsumeRequest,
  Consumption,
  InboundMessage,
  OutboundMessage,
} from '../../src/transport/broker.ts';
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

/** A message with a number in it. */
export function message(n: number, about: Partial<OutboundMessage> = {}): OutboundMessage {
  const type = about.type ?? 'order.placed';
  const attributes = { specversion: '1.0', id: newId(), source: 'test', type, datacontenttype: 'application/json' };
  const body = Buffer.from(JSON.stringify({ n }));
  return { type, key: undefined, isDead: false, attributes, headers: {}, body, ...about };
}

/** Consumes until the test ends, and keeps what it stores. */
export async function consuming(
  broker: Broker,
  about: Partial<ConsumeRequest> = {},
): Promise<{
  readonly stored: InboundMessage[];
  readonly lost: unknown[];
  /** Why places cannot be read, by their names. */
  readonly waiting: Map<string, unknown>;
  readonly consumption: Consumption;
}> {
  const stored: InboundMessage[] = [];
  const lost: unknown[] = [];
  const waiting = new Map<string, unknown>();
  const consumption = await broker.consume({
    group: 'mail',
    types: ['order.placed'],
    isDead: false,
    onBatch: async (batch) => void stored.push(...batch),
    onPlace: (place, problem) => void (problem === undefined ? waiting.delete(place) : waiting.set(place, problem)),
    onLost: (error) => void lost.push(error),
    ...about,
  });
  onTestFinished(() => consumption.stop());
  return { stored, lost, waiting, consumption };
}

/** A producer of foreign make: the bare library. Closed when the test ends. */
export function foreignProducer(url: string, options: object = {}): Producer {
  const producer = new Producer({ clientId: 'foreign', bootstrapBrokers: [url], retries: 3, ...options });
  onTestFinished(() => producer.close());
  return producer;
}
