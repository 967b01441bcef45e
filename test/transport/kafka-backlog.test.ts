import { expect } from 'vitest';
import { BATCH_BYTES } from '../../src/transport/batch-limit.ts';
import { amount } from '../support/amount.ts';
import { needs } from '../support/needs.ts';
import { consuming, message } from './broker-kit.ts';
import { openBroker, ownTopics } from './kafka-kit.ts';
import { numberIn } from './number-in.ts';

const test = needs('kafka');
const SIZE = 900_000;

test('a backlog of large messages is fetched in parts of bounded size, all arrive, and in their order [S0.8] [S1.5]', async ({
  kafka: server,
}) => {
  const count = amount(20, 510);
  const options = await ownTopics(server, 'order');
  const broker = openBroker(options);
  const text = 'x'.repeat(SIZE);
  for (let n = 0; n < count; n++) {
    const [result] = await broker.publish([message(n, { key: 'k', body: Buffer.from(JSON.stringify({ n, text })) })]);
    expect(result?.kind).toBe('published');
  }
  const numbers: number[] = [];
  const sizes: number[] = [];
  const { lost } = await consuming(broker, {
    onBatch: async (batch) => {
      numbers.push(...batch.map(numberIn));
      sizes.push(batch.reduce((size, { body }) => size + body.length, 0));
    },
  });
  await expect.poll(() => numbers.length, { timeout: 60_000 }).toBe(count);
  expect(numbers).toEqual(Array.from({ length: count }, (_, n) => n));
  expect(Math.max(...sizes)).toBeLessThanOrEqual(BATCH_BYTES);
  expect(lost).toEqual([]);
});
