import { expect, onTestFinished } from 'vitest';
import { rabbitmqBroker } from '../../src/rabbitmq/rabbitmq.ts';
import { amount } from '../support/amount.ts';
import { needs } from '../support/needs.ts';
import { connected, dropTopology } from '../support/rabbitmq-server.ts';
import { consuming, message } from './broker-kit.ts';
import { numberIn } from './number-in.ts';

const test = needs('rabbitmq');
const SIZE = 900_000;
/** 32 MB. */
const FITS = 37;

test('a backlog of large messages is read with fewer in the hand, all arrive, and in their order [S0.8] [S1.5]', async ({
  rabbitmq: { url, namespace },
}) => {
  const count = amount(50, 510);
  const prefix = `${namespace}.backlog.`;
  const broker = rabbitmqBroker({ url, prefix });
  onTestFinished(async () => {
    await broker.close();
    await dropTopology(url, prefix, ['order'], ['mail']);
  });
  const { consumption } = await consuming(broker);
  await consumption.stop();
  const text = 'x'.repeat(SIZE);
  for (let n = 0; n < count; n++) {
    const [result] = await broker.publish([message(n, { body: Buffer.from(JSON.stringify({ n, text })) })]);
    expect(result?.kind).toBe('published');
  }
  const held = Promise.withResolvers<void>();
  held.promise.catch(() => undefined);
  const first = await consuming(broker, { onBatch: () => held.promise });
  const queue = (): Promise<{ messageCount: number; consumerCount: number }> =>
    connected(url, async (connection) => (await connection.createChannel()).checkQueue(`${prefix}mail.order`));
  const ready = async (): Promise<number> => (await queue()).messageCount;
  // Too much has arrived: it gives all of it back.
  await expect.poll(async () => (await queue()).consumerCount, { timeout: 30_000 }).toBe(0);
  held.reject(new Error('it stops'));
  await expect.poll(() => first.lost.map(String)).toEqual([expect.stringContaining('at a time')]);
  await expect.poll(ready, { timeout: 30_000 }).toBe(count);

  const holding = Promise.withResolvers<void>();
  const numbers: number[] = [];
  const second = await consuming(broker, {
    onBatch: async (batch) => {
      await holding.promise;
      numbers.push(...batch.map(numberIn));
    },
  });
  await expect.poll(ready, { timeout: 30_000 }).toBeLessThan(count);
  expect(await ready()).toBeGreaterThanOrEqual(count - FITS);
  holding.resolve();
  await expect.poll(() => numbers.length, { timeout: 60_000 }).toBe(count);
  expect(numbers).toEqual(Array.from({ length: count }, (_, n) => n));
  expect(second.lost).toEqual([]);
});
