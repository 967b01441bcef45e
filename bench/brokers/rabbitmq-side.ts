import { connect, type ChannelModel, type ConsumeMessage } from 'amqplib';
import { rabbitmq } from 'holdfast/rabbitmq';
import { connected } from '../../test/support/rabbitmq-server.ts';
import { attributesOf, type BareMessage, Gatherer, type Side, TOPIC, TYPE } from './side.ts';

const PREFETCH = 1_000;
const ATTRIBUTE = 'cloudEvents_';

/** The group that reads: the service of the measure. Its queue is as ours is made, whoever makes it. */
const GROUP = 'bench';

/** RabbitMQ through amqplib: a batch is published on one channel, then all its confirms are waited for. */
export async function rabbitmqSide(url: string): Promise<Side> {
  const version = await connected(url, async ({ connection }) => {
    const { serverProperties } = connection as { readonly serverProperties?: { readonly version?: string } };
    return serverProperties?.version;
  });
  return {
    title: 'RabbitMQ',
    version,
    prepare: (prefix) => connected(url, (connection) => declare(connection, prefix)),
    transport: (prefix) => rabbitmq({ url, prefix }),
    publisher: async (prefix) => {
      const connection = await connect(url);
      const channel = await connection.createConfirmChannel();
      channel.on('return', () => channel.emit('error', new Error('a message reached no queue')));
      return {
        publish: async (messages) => {
          for (const message of messages)
            channel.publish(`${prefix}${TOPIC}`, TYPE, Buffer.from(message.payload), propertiesOf(message));
          await channel.waitForConfirms();
        },
        close: () => connection.close(),
      };
    },
    consumer: async (prefix, onBatch) => {
      const connection = await connect(url);
      const channel = await connection.createChannel();
      await channel.prefetch(PREFETCH);
      const gatherer = new Gatherer<ConsumeMessage>(async (found) => {
        await onBatch(found.map(messageOf));
        const last = found.at(-1);
        if (last) channel.ack(last, true);
      });
      await channel.consume(queueOf(prefix), (message) => void (message && gatherer.push(message)));
      return {
        stop: async () => {
          await gatherer.stop();
          await channel.close();
          await connection.close();
        },
      };
    },
    count: (prefix) =>
      connected(url, async (connection) => {
        const channel = await connection.createChannel();
        return (await channel.checkQueue(queueOf(prefix))).messageCount;
      }),
    drop: (prefix) =>
      connected(url, async (connection) => {
        const channel = await connection.createChannel();
        await channel.deleteQueue(queueOf(prefix));
        await channel.deleteQueue(`${prefix}${TOPIC}.dlq`);
        await channel.deleteExchange(`${prefix}${TOPIC}`);
        await channel.deleteExchange(`${prefix}${TOPIC}.dlq`);
      }),
    close: async () => undefined,
  };
}

function queueOf(prefix: string): string {
  return `${prefix}${GROUP}.${TOPIC}`;
}

/** With the settings that ours declares: another queue would be another speed. */
async function declare(connection: ChannelModel, prefix: string): Promise<void> {
  const channel = await connection.createChannel();
  const exchange = `${prefix}${TOPIC}`;
  const quorum = { 'x-queue-type': 'quorum', 'x-delivery-limit': 1_000_000_000, 'x-single-active-consumer': true };
  const dead = {
    'x-dead-letter-exchange': `${exchange}.dlq`,
    'x-dead-letter-strategy': 'at-least-once',
    'x-overflow': 'reject-publish',
  };
  await channel.assertExchange(exchange, 'topic', { durable: true });
  await channel.assertQueue(queueOf(prefix), { durable: true, arguments: { ...quorum, ...dead } });
  await channel.bindQueue(queueOf(prefix), exchange, TYPE);
}

function propertiesOf(message: BareMessage): object {
  const attributes = attributesOf(message);
  return {
    persistent: true,
    mandatory: true,
    contentType: 'application/json',
    messageId: message.id,
    type: TYPE,
    appId: 'bench',
    headers: Object.fromEntries(Object.entries(attributes).map(([name, value]) => [ATTRIBUTE + name, value])),
  };
}

function messageOf({ content, properties }: ConsumeMessage): BareMessage {
  const { messageId, headers } = properties;
  return {
    id: String(messageId),
    key: String(headers?.[`${ATTRIBUTE}partitionkey`]),
    payload: content.toString(),
  };
}
