import { describe, expect } from 'vitest';
import { event } from '../../src/index.ts';
import { kafka, type KafkaOptions } from '../../src/kafka/index.ts';
import { testService } from '../relay/service.ts';
import { withAdmin } from '../support/kafka-server.ts';
import { needs } from '../support/needs.ts';
import { message, reading } from './broker-kit.ts';
import { foreignProducer, openBroker, ownTopics } from './kafka-kit.ts';

const test = needs('kafka', 'postgres');
const range = (count: number): readonly number[] => Array.from({ length: count }, (_, n) => n);

/** Creates the topic of `order.placed` with one partition; where it exists, it is deleted first. */
async function makeTopic({ brokers: [url = ''], prefix = '' }: KafkaOptions): Promise<void> {
  const topics = [`${prefix}order`];
  await withAdmin(url, async (admin) => {
    await admin.deleteTopics({ topics }).catch(() => undefined);
    const create = (): Promise<string> =>
      admin.createTopics({ topics, partitions: 1, replicas: 1 }).then(() => 'created', String);
    // The name is free a moment after the topic was deleted.
    await expect.poll(create).toBe('created');
    // So is it for reading and writing: until then, what is written may still end up in the old one.
    const end = async (): Promise<unknown> =>
      (
        await admin.listOffsets({
          topics: [{ name: topics[0] ?? '', partitions: [{ partitionIndex: 0, timestamp: -1n }] }],
        })
      )[0]?.partitions[0]?.offset;
    await expect.poll(() => end().catch(() => undefined)).toBe(0n);
  });
}

describe('a topic of Kafka that is deleted, created again and filled', () => {
  test('while a batch of the old one is being stored is read from its first message on, and that is reported [S0.8] [S1.5]', async ({
    kafka: server,
  }) => {
    const options = await ownTopics(server);
    await makeTopic(options);
    const held = Promise.withResolvers<void>();
    const isHolding = Promise.withResolvers<void>();
    await openBroker(options).publish(range(10).map((n) => message(n)));
    const { stored, problems } = await reading(openBroker(options), () => {
      isHolding.resolve();
      return held.promise;
    });
    await isHolding.promise;
    await makeTopic(options);
    await openBroker(options).publish(range(30).map((n) => message(100 + n)));
    held.resolve();
    await expect.poll(() => range(30).filter((n) => !stored.includes(100 + n)), { timeout: 40_000 }).toEqual([]);
    expect(problems).toContainEqual(expect.stringContaining('deleted and created again'));
  });

  test('while its reader waits and its publisher stays is read from its first message on [S0.8] [S1.5]', async ({
    kafka: server,
  }) => {
    const options = await ownTopics(server);
    await makeTopic(options);
    const publisher = openBroker(options);
    await publisher.publish(range(10).map((n) => message(n)));
    const { stored, problems } = await reading(openBroker(options));
    await expect.poll(() => stored).toEqual(range(10));
    await makeTopic(options);
    await publisher.publish(range(30).map((n) => message(100 + n)));
    await expect.poll(() => range(30).filter((n) => !stored.includes(100 + n)), { timeout: 40_000 }).toEqual([]);
    expect(problems).toContainEqual(expect.stringContaining('deleted and created again'));
  });

  test('while the service is stopped is read from its first message on [S0.8] [S1.5]', async ({ kafka: server }) => {
    const options = await ownTopics(server);
    await makeTopic(options);
    await openBroker(options).publish(range(10).map((n) => message(n)));
    const before = await reading(openBroker(options));
    await expect.poll(() => before.stored).toEqual(range(10));
    await before.stop();
    await makeTopic(options);
    await openBroker(options).publish(range(30).map((n) => message(100 + n)));
    const { stored } = await reading(openBroker(options));
    await expect.poll(() => stored).toEqual(range(30).map((n) => 100 + n));
  });

  test('holds other messages where the old one held some: foreign ones without an id have their effects too [S0.9] [S1.5]', async ({
    kafka: server,
    postgres,
  }) => {
    const options = await ownTopics(server);
    await makeTopic(options);
    const here = await testService(postgres);
    const seen: number[] = [];
    const orders = here.another({
      transport: kafka({
        ...options,
        decode: ({ body }) => ({ type: 'order.placed', payload: JSON.parse(Buffer.from(body).toString()) as unknown }),
      }),
    });
    orders.on(event<{ n: number }>('order.placed'), 'book', ({ n }) => void seen.push(n));
    await here.start({ of: orders });
    const produce = (from: number): Promise<unknown> =>
      foreignProducer(server.url).send({
        messages: range(5).map((n) => ({
          topic: `${options.prefix}order`,
          value: Buffer.from(JSON.stringify({ n: from + n })),
        })),
      });
    await produce(0);
    await expect.poll(() => seen.toSorted((a, b) => a - b)).toEqual(range(5));
    await makeTopic(options);
    await produce(5);
    await expect.poll(() => seen.toSorted((a, b) => a - b), { timeout: 40_000 }).toEqual(range(10));
    const found = await here.column(`select distinct source_id from $.inbox order by source_id`);
    expect(found).toEqual(range(5).map((n) => `kafka:${options.prefix}order@0@${n}`));
  });
});
