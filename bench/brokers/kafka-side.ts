import {
  Consumer,
  ListOffsetTimestamps,
  type Message,
  Producer,
  stringDeserializers,
  stringSerializers,
} from '@platformatic/kafka';
import { kafka } from 'holdfast/kafka';
import { createTopics, withAdmin } from '../../test/support/kafka-server.ts';
import { attributesOf, type BareMessage, Gatherer, type Side, TOPIC } from './side.ts';

const PARTITIONS = 3;

type Found = Message<string, string, string, string>;

/** Kafka through @platformatic/kafka: an idempotent producer that waits for all replicas, its stream, and offsets committed by hand. */
export async function kafkaSide(url: string): Promise<Side> {
  const shared = { clientId: 'bench', bootstrapBrokers: [url] };
  return {
    title: 'Kafka',
    version: undefined,
    prepare: (prefix) => createTopics(url, [`${prefix}${TOPIC}`], PARTITIONS),
    transport: (prefix) => kafka({ brokers: [url], prefix }),
    publisher: async (prefix) => {
      const producer = new Producer({ ...shared, idempotent: true, serializers: stringSerializers });
      const topic = `${prefix}${TOPIC}`;
      return {
        publish: async (messages) => {
          await producer.send({ acks: -1, messages: messages.map((message) => recordOf(topic, message)) });
        },
        close: () => producer.close(),
      };
    },
    consumer: async (prefix, onBatch) => {
      const consumer = new Consumer({ ...shared, groupId: `${prefix}bare`, deserializers: stringDeserializers });
      const topic = `${prefix}${TOPIC}`;
      const stream = await consumer.consume({ topics: [topic], mode: 'earliest', autocommit: false, maxWaitTime: 500 });
      const gatherer = new Gatherer<Found>(async (found) => {
        await onBatch(found.map(messageOf));
        const next = new Map(found.map(({ partition, offset }) => [partition, offset + 1n]));
        const offsets = [...next].map(([partition, offset]) => ({ topic, partition, offset, leaderEpoch: -1 }));
        await consumer.commit({ offsets });
      });
      stream.on('data', (message) => gatherer.push(message));
      return {
        stop: async () => {
          await gatherer.stop();
          await consumer.close(true);
        },
      };
    },
    count: (prefix) =>
      withAdmin(url, async (admin) => {
        const partitions = Array.from({ length: PARTITIONS }, (_, partitionIndex) => ({
          partitionIndex,
          timestamp: ListOffsetTimestamps.LATEST,
        }));
        const listed = await admin.listOffsets({ topics: [{ name: `${prefix}${TOPIC}`, partitions }] });
        return listed.flatMap((topic) => topic.partitions).reduce((sum, { offset }) => sum + Number(offset), 0);
      }),
    drop: (prefix) =>
      withAdmin(url, async (admin) => {
        await admin.deleteTopics({ topics: [`${prefix}${TOPIC}`] });
      }),
    close: async () => undefined,
  };
}

function recordOf(
  topic: string,
  message: BareMessage,
): { topic: string; key: string; value: string; headers: Map<string, string> } {
  const headers = new Map([['content-type', 'application/json']]);
  for (const [name, value] of Object.entries(attributesOf(message))) headers.set(`ce_${name}`, value);
  return { topic, key: message.key, value: message.payload, headers };
}

function messageOf({ key, value, headers }: Found): BareMessage {
  return { id: headers.get('ce_id') ?? '', key, payload: value };
}
