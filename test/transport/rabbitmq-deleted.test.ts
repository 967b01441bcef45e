import type { Channel } from 'amqplib';
import { expect, onTestFinished } from 'vitest';
import { rabbitmqBroker } from '../../src/rabbitmq/rabbitmq.ts';
import { needs, type TestServer } from '../support/needs.ts';
import { connected, dropTopology } from '../support/rabbitmq-server.ts';
import { consuming, message } from './broker-kit.ts';
import { numberIn } from './number-in.ts';

const test = needs('rabbitmq');

function opened(
  { url, namespace }: TestServer,
  name: string,
): { prefix: string; broker: ReturnType<typeof rabbitmqBroker> } {
  const prefix = `${namespace}.${name}.`;
  const broker = rabbitmqBroker({ url, prefix });
  onTestFinished(async () => {
    await broker.close();
    await dropTopology(url, prefix, ['order', 'invoice'], ['mail', 'books']);
  });
  return { prefix, broker };
}

test('an exchange that is deleted is reported to its readers and made again, and every group that reads gets what is published then [S0.8] [S1.5]', async ({
  rabbitmq: server,
}) => {
  const { prefix, broker } = opened(server, 'exchange');
  const about = { types: ['order.placed', 'invoice.sent'] };
  const problems: string[] = [];
  const onPlace = (place: string, problem: unknown): void =>
    void problems.push(`${place} ${problem === undefined ? 'ready' : String((problem as { code?: unknown }).code)}`);
  const mail = await consuming(rabbitmqBroker({ url: server.url, prefix }), { ...about, onPlace });
  const books = await consuming(rabbitmqBroker({ url: server.url, prefix }), { ...about, group: 'books', onPlace });
  problems.length = 0;
  await broker.publish([message(0)]);
  await asOperator(server, (channel) => channel.deleteExchange(`${prefix}order`));

  // What is published at once waits; the other topic of the batch does not.
  const results = await broker.publish([message(1), message(2, { type: 'invoice.sent' })]);
  expect(results).toMatchObject([{ kind: 'failed', error: { code: 'BROKER_REFUSED' } }, { kind: 'published' }]);
  const isOut = async (): Promise<string> => (await broker.publish([message(1)]))[0]?.kind ?? '';
  await expect.poll(isOut, { timeout: 30_000 }).toBe('published');
  for (const { stored, lost } of [mail, books]) {
    await expect.poll(() => stored.map(numberIn).toSorted((a, b) => a - b)).toEqual([0, 1, 2]);
    expect(lost).toEqual([]);
  }
  expect(problems.filter((one) => one.includes('order BROKER_REFUSED'))).not.toEqual([]);
  expect(problems.findLast((one) => one.includes('order'))).toMatch(/ready$/);
});

test('a binding that is deleted is made again while its queue is read [S1.5]', async ({ rabbitmq: server }) => {
  const { prefix, broker } = opened(server, 'binding');
  const { stored, lost } = await consuming(broker);
  await asOperator(server, (channel) => channel.unbindQueue(`${prefix}mail.order`, `${prefix}order`, 'order.placed'));
  const isOut = async (): Promise<string> => (await broker.publish([message(1)]))[0]?.kind ?? '';
  await expect.poll(isOut, { timeout: 30_000 }).toBe('published');
  await expect.poll(() => stored.map(numberIn)).toEqual([1]);
  expect(lost).toEqual([]);
});

async function asOperator({ url }: TestServer, act: (channel: Channel) => Promise<unknown>): Promise<void> {
  await connected(url, async (connection) => void (await act(await connection.createChannel())));
}
