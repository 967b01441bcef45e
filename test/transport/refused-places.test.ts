import type { Channel } from 'amqplib';
import { Redis } from 'ioredis';
import { expect, onTestFinished } from 'vitest';
import { rabbitmqBroker } from '../../src/rabbitmq/rabbitmq.ts';
import { redisStreamsBroker } from '../../src/redis/redis-streams.ts';
import type { Broker, OutboundMessage } from '../../src/transport/broker.ts';
import { needs } from '../support/needs.ts';
import { connected, dropTopology } from '../support/rabbitmq-server.ts';
import { consuming, message } from './broker-kit.ts';
import { numberIn } from './number-in.ts';

const TYPES = ['closed.door', 'order.placed'];

function closing(broker: Broker): Broker {
  onTestFinished(() => broker.close());
  return broker;
}

function onChannel(url: string, work: (channel: Channel) => Promise<unknown>): Promise<unknown> {
  return connected(url, async (connection) => work(await connection.createChannel()));
}

const orders = [message(1, { key: 'a' }), message(2, { key: 'b' })];
const behindDoor = [message(3, { key: 'a', type: 'closed.door' }), message(4, { key: 'c', type: 'closed.door' })];
const kindsOf = async (broker: Broker, messages: readonly OutboundMessage[]): Promise<readonly string[]> =>
  (await broker.publish(messages)).map(({ kind }) => kind);

needs('redis')(
  'a key of Redis that is no stream holds up no other, to publish and to read, and is read once it is one [S1.5]',
  async ({ redis: { url, namespace } }) => {
    const client = new Redis(url);
    onTestFinished(() => client.disconnect());
    const prefix = `${namespace}:refused:`;
    await client.set(`${prefix}closed`, 'a text');
    const broker = closing(redisStreamsBroker({ client, prefix }));
    const { stored, waiting, lost } = await consuming(broker, { types: TYPES });
    const batch = [...behindDoor, ...orders];
    // What follows a refused one in its key is held back.
    expect(await kindsOf(broker, batch)).toEqual(['failed', 'failed', 'failed', 'published']);
    const [refused] = await broker.publish(behindDoor);
    expect(refused).toMatchObject({
      error: { code: 'BROKER_REFUSED', details: { place: `stream "${prefix}closed"` } },
    });
    await expect.poll(() => stored.map(numberIn)).toEqual([2]);
    expect([...waiting.keys()]).toEqual([`${prefix}closed`]);
    await client.del(`${prefix}closed`);
    expect(await kindsOf(broker, [...behindDoor, ...orders.slice(0, 1)])).toEqual(Array(3).fill('published'));
    await expect.poll(() => stored.map(numberIn).toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4]);
    expect([lost, waiting.size]).toEqual([[], 0]);
  },
);

needs('rabbitmq')(
  'a queue of RabbitMQ that is there with other settings holds up no other, and is read once it is made anew [S1.5]',
  async ({ rabbitmq: { url, namespace } }) => {
    const prefix = `${namespace}.refused.`;
    const queue = `${prefix}mail.closed`;
    onTestFinished(() => dropTopology(url, prefix, ['order', 'closed'], ['mail']));
    await onChannel(url, (channel) => channel.assertQueue(queue, { durable: true }));
    const broker = closing(rabbitmqBroker({ url, prefix }));
    const { stored, waiting, lost } = await consuming(broker, { types: TYPES });
    expect(await kindsOf(broker, orders)).toEqual(['published', 'published']);
    await expect.poll(() => stored.map(numberIn)).toEqual([1, 2]);
    expect([...waiting]).toEqual([[queue, expect.objectContaining({ code: 'BROKER_REFUSED' })]]);
    await onChannel(url, (channel) => channel.deleteQueue(queue));
    await expect.poll(() => waiting.size).toBe(0);
    expect(await kindsOf(broker, behindDoor)).toEqual(['published', 'published']);
    await expect.poll(() => stored.map(numberIn)).toEqual([1, 2, 3, 4]);
    // Taken away while it is read, it is made again; the other goes on.
    await onChannel(url, (channel) => channel.deleteQueue(queue));
    await expect.poll(() => waiting.size).toBe(1);
    await expect.poll(() => waiting.size).toBe(0);
    expect(await kindsOf(broker, [message(5, { type: 'closed.door' }), message(6)])).toEqual([
      'published',
      'published',
    ]);
    await expect.poll(() => stored.map(numberIn).toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(lost).toEqual([]);
  },
);
