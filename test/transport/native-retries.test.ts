import { describe, expect, onTestFinished } from 'vitest';
import { event } from '../../src/index.ts';
import { rabbitmq } from '../../src/rabbitmq/index.ts';
import { rabbitmqBroker } from '../../src/rabbitmq/rabbitmq.ts';
import { withAdmin } from '../support/kafka-server.ts';
import { needs, type TestServer } from '../support/needs.ts';
import { connected, dropTopology } from '../support/rabbitmq-server.ts';
import { testService } from '../relay/service.ts';
import { openBroker, ownTopics } from './kafka-kit.ts';
import { endsDead, losesNothing, type NativeBroker, triesAgain } from './native-retry-runs.ts';

let prefixes = 0;

/** Names of a test's own at a RabbitMQ, which are taken away after it, and the queues below `orders.order` that it names. */
function ownNames({ url, namespace }: TestServer, queues: readonly string[]): string {
  const prefix = `${namespace}.native${(prefixes += 1)}.`;
  onTestFinished(async () => {
    await dropTopology(url, prefix, ['order'], ['orders']);
    await connected(url, async (connection) => {
      const channel = await connection.createChannel();
      for (const queue of queues) await channel.deleteQueue(`${prefix}${queue}`);
    });
  });
  return prefix;
}

function onRabbitmq(server: TestServer, ...delaysMs: readonly number[]): NativeBroker {
  const { url } = server;
  const queueOf = (delayMs: number): string => `orders.order.retry.${delayMs}`;
  const prefix = ownNames(server, delaysMs.map(queueOf));
  return {
    open: (retryDelaysMs) => {
      const broker = rabbitmqBroker({ url, prefix, retryDelaysMs });
      onTestFinished(() => broker.close());
      return broker;
    },
    purge: (delayMs) =>
      connected(url, async (connection) => {
        const channel = await connection.createChannel();
        expect(await channel.purgeQueue(`${prefix}${queueOf(delayMs)}`)).toEqual({ messageCount: 1 });
      }),
  };
}

async function onKafka(server: TestServer, ...delaysMs: readonly number[]): Promise<NativeBroker> {
  const topicOf = (delayMs: number): string => `order.retry.${delayMs}`;
  const options = await ownTopics(server, 'order', 'order.dlq', ...delaysMs.map(topicOf));
  return {
    open: (retryDelaysMs) => openBroker({ ...options, retryDelaysMs }),
    purge: async (delayMs) => {
      const topic = `${options.prefix}${topicOf(delayMs)}`;
      await withAdmin(server.url, (admin) => admin.deleteTopics({ topics: [topic] }));
    },
  };
}

describe('retries by queues of RabbitMQ with a time to live', () => {
  const test = needs('postgres', 'rabbitmq');

  test('a handler that fails twice runs three times and has one effect, before what follows in its key, also when each copy comes back twice [S1.7]', async ({
    postgres,
    rabbitmq: server,
  }) => {
    await triesAgain(postgres, onRabbitmq(server, 100, 200));
  });

  test('a queue that is purged loses nothing: the dead letter is there, and goes on by a replay [S1.7] [S0.9]', async ({
    postgres,
    rabbitmq: server,
  }) => {
    await losesNothing(postgres, onRabbitmq(server, 600_000));
  });

  test('after the last round, and at once where trying again would not help, the copy stays in the queue of dead letters, whatever old ones come [S1.7]', async ({
    postgres,
    rabbitmq: server,
  }) => {
    await endsDead(postgres, onRabbitmq(server, 50));
  });

  test('a queue that operators bound to the dead letters does it as well, the topic being its dead letter exchange [S1.7]', async ({
    postgres,
    rabbitmq: server,
  }) => {
    const { url } = server;
    const prefix = ownNames(server, ['later']);
    const here = await testService(postgres);
    const orders = here.another({ transport: rabbitmq({ url, prefix }) });
    const placed = event<number>('order.placed', { key: () => 'a' });
    const seen: number[] = [];
    const fail = (n: number): void => {
      seen.push(n);
      if (seen.length < 2) throw new Error('not yet');
    };
    orders.on(placed, 'book', fail, { policy: { maxAttempts: 1 } });
    await connected(url, async (connection) => {
      const channel = await connection.createChannel();
      await channel.assertExchange(`${prefix}order.dlq`, 'topic', { durable: true });
      const settings = { 'x-queue-type': 'quorum', 'x-message-ttl': 100, 'x-dead-letter-exchange': `${prefix}order` };
      await channel.assertQueue(`${prefix}later`, { durable: true, arguments: settings });
      await channel.bindQueue(`${prefix}later`, `${prefix}order.dlq`, '#');
    });
    await here.start({ of: orders });
    await here.inTransaction(async (tx) => {
      for (const n of [1, 2]) await orders.send(tx, placed, n);
    });
    await expect.poll(() => seen).toEqual([1, 1, 2]);
  });
});

describe('retries by topics of Kafka', () => {
  const test = needs('postgres', 'kafka');

  test('a handler that fails twice runs three times and has one effect, before what follows in its key, also when each copy is there twice [S1.7]', async ({
    postgres,
    kafka: server,
  }) => {
    await triesAgain(postgres, await onKafka(server, 100, 200));
  });

  test('a retry topic that is deleted loses nothing and holds up nothing: the dead letter is there, and goes on by a replay [S1.7] [S0.9]', async ({
    postgres,
    kafka: server,
  }) => {
    await losesNothing(postgres, await onKafka(server, 600_000));
  });

  test('after the last round, and at once where trying again would not help, the copy stays in the topic of dead letters, whatever old ones come [S1.7]', async ({
    postgres,
    kafka: server,
  }) => {
    await endsDead(postgres, await onKafka(server, 50));
  });
});
