import { Consumer } from '@platformatic/kafka';
import { connect } from 'amqplib';

/** A message as a client that knows nothing of Holdfast reads it off a broker. */
export interface BareMessage {
  readonly headers: Readonly<Record<string, string>>;
  readonly payload: Readonly<Record<string, unknown>>;
}

/** Reads along from now on, and keeps what it has seen. */
export interface BareReader {
  readonly seen: readonly BareMessage[];
  readonly close: () => Promise<void>;
}

/** Reads what goes through an exchange, in a queue of its own. */
export async function readExchange(url: string, exchange: string): Promise<BareReader> {
  const connection = await connect(url);
  const channel = await connection.createChannel();
  await channel.assertExchange(exchange, 'topic', { durable: true });
  const { queue } = await channel.assertQueue('', { exclusive: true });
  await channel.bindQueue(queue, exchange, '#');
  const seen: BareMessage[] = [];
  await channel.consume(
    queue,
    (message) => {
      if (message) seen.push(bare(message.properties.headers ?? {}, message.content));
    },
    { noAck: true },
  );
  return { seen, close: () => connection.close() };
}

/** Reads topics from their beginning, in a group of its own. */
export async function readTopics(broker: string, topics: readonly string[], group: string): Promise<BareReader> {
  const consumer = new Consumer({ clientId: 'bare', groupId: group, bootstrapBrokers: [broker] });
  const stream = await consumer.consume({ topics: [...topics], mode: 'earliest', autocommit: false });
  const seen: BareMessage[] = [];
  stream.on('data', ({ headers, value }) => {
    seen.push(bare(Object.fromEntries([...headers].map(([name, text]) => [String(name), String(text)])), value));
  });
  return {
    seen,
    close: async () => {
      await stream.close();
      await consumer.close(true);
    },
  };
}

function bare(headers: Record<string, unknown>, body: Buffer): BareMessage {
  const texts = Object.entries(headers).map(([name, value]) => [name, String(value)]);
  return { headers: Object.fromEntries(texts), payload: JSON.parse(body.toString()) as Record<string, unknown> };
}
