import type { ConsumerInfo } from '@nats-io/jetstream';
import { expect } from 'vitest';
import { amount } from '../support/amount.ts';
import { needs } from '../support/needs.ts';
import { consuming, message } from './broker-kit.ts';
import { ask, openBroker, ownNames } from './nats-kit.ts';
import { numberIn } from './number-in.ts';

const test = needs('nats');
const SIZE = 900_000;
/** 32 MB, and what is asked for meanwhile once that was too much: half as many. */
const FITS = 38 + 19;

test('a backlog of large messages is read with a bounded number in the hand, all arrive, and in their order [S0.8] [S1.5]', async ({
  nats: server,
}) => {
  const count = amount(70, 510);
  const own = ownNames(server);
  const broker = openBroker(own);
  const text = 'x'.repeat(SIZE);
  const publish = async (from: number): Promise<void> => {
    for (let n = from; n < from + count; n++) {
      const [result] = await broker.publish([message(n, { body: Buffer.from(JSON.stringify({ n, text })) })]);
      expect(result?.kind).toBe('published');
    }
  };
  let held = Promise.withResolvers<void>();
  const numbers: number[] = [];
  const { lost } = await consuming(broker, {
    onBatch: async (batch) => {
      await held.promise;
      numbers.push(...batch.map(numberIn));
    },
  });
  const consumer = (): Promise<ConsumerInfo> =>
    ask(own, (manager) => manager.consumers.info(`${own.prefix}order`, 'mail'));
  /** There are more, and it asks for none. */
  const isPausing = async (): Promise<boolean> => {
    const { num_pending: more, num_waiting: asking } = await consumer();
    return more > 0 && asking === 0;
  };
  await publish(0);
  await expect.poll(isPausing, { timeout: 30_000 }).toBe(true);
  held.resolve();
  await expect.poll(() => numbers.length, { timeout: 60_000 }).toBe(count);

  held = Promise.withResolvers();
  await publish(count);
  await expect.poll(isPausing, { timeout: 30_000 }).toBe(true);
  expect((await consumer()).num_ack_pending).toBeLessThanOrEqual(FITS);
  held.resolve();
  await expect.poll(() => numbers.length, { timeout: 60_000 }).toBe(2 * count);
  expect(numbers).toEqual(Array.from({ length: 2 * count }, (_, n) => n));
  expect(lost).toEqual([]);
});
