import { expect, test } from 'vitest';
import { virtualTime } from '../testing/virtual-time.ts';
import type { AmqpMessage } from './amqp-client.ts';
import { PrefetchLimit } from './prefetch-limit.ts';
import { QueueConsumer, type QueueConsumerOptions } from './queue-consumer.ts';

test('a queue that is taken away in the same moment as it begins to be read is no queue that is read [S1.5]', async () => {
  const lost: unknown[] = [];
  const channel = {
    on: () => undefined,
    prefetch: async () => undefined,
    close: async () => undefined,
    // The word of the broker that it is gone stands right behind its answer.
    consume: async (_: string, onMessage: (message: AmqpMessage | null) => void) => onMessage(null),
  };
  const consumer = new QueueConsumer({
    link: { connection: { createChannel: async () => channel }, isEnded: false },
    topology: { declareQueue: async () => undefined, refusal: (_: string, error: unknown) => error },
    queue: { queue: 'mail.order', exchange: 'order', types: ['order.placed'], isDead: false },
    request: { group: 'mail' },
    prefetch: new PrefetchLimit(10, virtualTime()),
    lock: undefined,
    onBatch: async () => undefined,
    onLost: (reason: unknown) => void lost.push(reason),
    onProblem: () => undefined,
    effects: virtualTime(),
  } as unknown as QueueConsumerOptions);
  await expect(consumer.start()).rejects.toThrow(/"mail\.order" was taken away/);
  expect(lost).toEqual([]);
});
