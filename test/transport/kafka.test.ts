import { describe, expect } from 'vitest';
import { event, TerminalHandlerError } from '../../src/index.ts';
import { kafka } from '../../src/kafka/index.ts';
import { isHoldfastError } from '../../src/kernel/error.ts';
import type { Broker, OutboundMessage } from '../../src/transport/broker.ts';
import { createTopics, withAdmin } from '../support/kafka-server.ts';
import { needs } from '../support/needs.ts';
import { testService } from '../relay/service.ts';
import { consuming, message } from './broker-kit.ts';
import { foreignProducer, openBroker, ownTopics } from './kafka-kit.ts';
import { numberIn } from './number-in.ts';

const test = needs('kafka', 'postgres');
const placed = event<{ order: string; n: number }>('order.placed', { key: ({ order }) => order });
const range = (count: number): readonly number[] => Array.from({ length: count }, (_, n) => n);

/** `published`, or the code of the error. */
async function outcomes(broker: Broker, messages: readonly OutboundMessage[]): Promise<readonly string[]> {
  const results = await broker.publish(messages);
  return results.map((result) => {
    if (result.kind === 'published') return 'published';
    return isHoldfastError(result.error) ? result.error.code : String(result.error);
  });
}

describe('publishing to Kafka', () => {
  test('a topic that is not there is named in the error, and the others go out [S1.5]', async ({ kafka: server }) => {
    const options = await ownTopics(server, 'order');
    const broker = openBroker(options);
    const batch = [message(1), message(2, { type: 'nowhere.to' }), message(3)];
    expect(await outcomes(broker, batch)).toEqual(['published', 'KAFKA_TOPIC_REFUSED', 'published']);
    const [, refused] = await broker.publish(batch);
    expect(String(refused?.kind === 'failed' && refused.error)).toContain(`"${options.prefix}nowhere"`);
    await expect(consuming(broker, { types: ['nowhere.to'] })).rejects.toThrow(`"${options.prefix}nowhere"`);
  });

  test('what follows a refused message in its key is held back, in the same and in another topic [S1.5]', async ({
    kafka: server,
  }) => {
    const broker = openBroker(await ownTopics(server, 'order', 'invoice'));
    const big = Buffer.alloc(1_100_000, 32);
    const batch = [
      message(0, { key: 'a' }),
      message(1, { key: 'b' }),
      message(2, { key: 'b', body: big }),
      message(3, { key: 'b', type: 'invoice.paid' }),
      message(4, { key: 'a', type: 'invoice.paid' }),
      message(5, { key: 'b' }),
      message(6, { key: 'a' }),
      message(7),
    ];
    const tooLarge = [2, 3, 5];
    const expected = range(8).map((n) => (tooLarge.includes(n) ? 'KAFKA_MESSAGE_TOO_LARGE' : 'published'));
    expect(await outcomes(broker, batch)).toEqual(expected);
    const { stored } = await consuming(broker, { types: ['order.placed', 'invoice.paid'] });
    await expect.poll(() => stored.map(numberIn).toSorted((a, b) => a - b)).toEqual([0, 1, 4, 6, 7]);
  });

  test('a batch that is larger than the topic takes is cut; only a message that is too large by itself is refused [S1.5]', async ({
    kafka: server,
  }) => {
    const options = await ownTopics(server);
    const configs = [{ name: 'max.message.bytes', value: '20000' }];
    await withAdmin(server.url, (admin) =>
      admin.createTopics({ topics: [`${options.prefix}order`], partitions: 1, replicas: 1, configs }),
    );
    const broker = openBroker(options);
    const filled = (n: number, size: number): OutboundMessage =>
      message(n, { key: `k${n}`, body: Buffer.from(JSON.stringify({ n, filling: 'x'.repeat(size) })) });
    const batch = range(40).map((n) => filled(n, n === 17 ? 30_000 : 3_000));
    const expected = range(40).map((n) => (n === 17 ? 'KAFKA_MESSAGE_TOO_LARGE' : 'published'));
    expect(await outcomes(broker, batch)).toEqual(expected);
    const { stored } = await consuming(broker);
    await expect.poll(() => stored.map(numberIn)).toEqual(range(40).filter((n) => n !== 17));
  });

  test('a key goes to the partition that other producers choose for it, and messages without a key are spread [S1.5]', async ({
    kafka: server,
  }) => {
    const options = await ownTopics(server, 'order');
    const broker = openBroker(options);
    // What Java's own producer chooses of three partitions.
    const keys = { '21': 0, 'a-little-bit-long-string': 2, 'größe/🦜 1': 0, 'order-1': 1 };
    const sent = Object.keys(keys).map((key, n) => message(n, { key }));
    await broker.publish([...sent, ...range(30).map((n) => message(100 + n))]);
    const { stored } = await consuming(broker);
    await expect.poll(() => stored.length).toBe(34);
    const partition = (sourceId: string): number => Number(sourceId.split('@')[1]);
    const found = stored.flatMap(({ key, sourceId }) => (key === undefined ? [] : [[key, partition(sourceId)]]));
    expect(Object.fromEntries(found)).toEqual(keys);
    const spread = stored.filter(({ key }) => key === undefined).map(({ sourceId }) => partition(sourceId));
    expect([0, 1, 2].map((one) => spread.filter((other) => other === one).length)).toEqual([10, 10, 10]);
  });
});

describe('reading from Kafka', () => {
  test('records of transactions that were given up are left out, and what stands behind them is not [S1.5]', async ({
    kafka: server,
  }) => {
    const options = await ownTopics(server, 'order');
    const topic = `${options.prefix}order`;
    const producer = foreignProducer(server.url, { idempotent: true });
    const write = async (n: number, isKept: boolean): Promise<void> => {
      const transaction = await producer.beginTransaction({});
      const value = Buffer.from(JSON.stringify({ n }));
      await transaction.send({ messages: [{ topic, partition: 0, value }] });
      await (isKept ? transaction.commit() : transaction.abort());
    };
    for (const [n, isKept] of [true, false, false, true, false].entries()) await write(n, isKept);
    const broker = openBroker(options);
    const { stored, consumption } = await consuming(broker);
    await expect.poll(() => stored.map(numberIn)).toEqual([0, 3]);
    await consumption.stop();
    await write(5, true);
    const next = await consuming(broker);
    await expect.poll(() => next.stored.map(numberIn)).toEqual([5]);
  });

  test('where retention has taken what comes next, reading goes on with the oldest that is left [S1.5]', async ({
    kafka: server,
  }) => {
    const options = await ownTopics(server, 'order');
    const broker = openBroker(options);
    const first = await consuming(broker);
    await broker.publish([message(0, { key: 'a' })]);
    await expect.poll(() => first.stored.length).toBe(1);
    await first.consumption.stop();
    await broker.publish([1, 2, 3].map((n) => message(n, { key: 'a' })));
    const partition = Number(first.stored[0]?.sourceId.split('@')[1]);
    await withAdmin(server.url, (admin) =>
      admin.deleteRecords({
        topics: [{ name: `${options.prefix}order`, partitions: [{ partition, offset: 3n }] }],
      }),
    );
    const { stored } = await consuming(broker);
    await expect.poll(() => stored.map(numberIn)).toEqual([3]);
  });

  test('while versions of a service take different topics, each is read by those who take it [S1.5]', async ({
    kafka: server,
  }) => {
    const options = await ownTopics(server, 'order', 'invoice');
    const [order, invoice] = ['order.placed', 'invoice.paid'];
    const old = await consuming(openBroker(options), { types: [order] });
    const fresh = await consuming(openBroker(options), { types: [order, invoice] });
    const broker = openBroker(options);
    const send = (n: number): OutboundMessage[] => [order, invoice].map((type) => message(n, { type }));
    await broker.publish(range(12).flatMap(send));
    const typesAt = ({ stored }: typeof old): readonly unknown[] => [
      ...new Set(stored.map(({ attributes }) => attributes['type'])),
    ];
    await expect.poll(() => old.stored.length + fresh.stored.length).toBeGreaterThanOrEqual(24);
    expect([typesAt(old), typesAt(fresh)]).toEqual([[order], expect.arrayContaining([invoice])]);
    expect([...old.lost, ...fresh.lost]).toEqual([]);
  });

  test('a topic that is not there yet holds up no other, is named, and is read once it is made [S1.5]', async ({
    kafka: server,
  }) => {
    const options = await ownTopics(server, 'order');
    const broker = openBroker(options);
    const { stored, lost, waiting } = await consuming(broker, { types: ['late.come', 'order.placed'] });
    await broker.publish([message(1)]);
    await expect.poll(() => stored.map(numberIn)).toEqual([1]);
    expect([...waiting].map(String)).toEqual([expect.stringContaining(`"${options.prefix}late"`)]);
    await createTopics(server.url, [`${options.prefix}late`]);
    await openBroker(options).publish([message(2, { type: 'late.come' })]);
    await expect.poll(() => stored.map(numberIn)).toEqual([1, 2]);
    expect([lost, waiting.size]).toEqual([[], 0]);
  });

  test('partitions that are added to a topic are read too [S1.5]', async ({ kafka: server }) => {
    const options = await ownTopics(server, 'order');
    const broker = openBroker(options);
    const { stored, lost } = await consuming(broker);
    await broker.publish([message(0, { key: 'a' })]);
    await expect.poll(() => stored.length).toBe(1);
    await withAdmin(server.url, (admin) =>
      admin.createPartitions({ topics: [{ name: `${options.prefix}order`, count: 12, assignments: null }] }),
    );
    const fresh = openBroker(options);
    await fresh.publish(range(24).map((n) => message(n + 1)));
    await expect.poll(() => new Set(stored.map(numberIn)).size).toBe(25);
    expect(new Set(stored.map(({ sourceId }) => sourceId.split('@')[1])).size).toBe(12);
    expect(lost).toEqual([]);
  });
});

describe('a service on Kafka', () => {
  test('has one effect of a message that is published twice, at two offsets [S1.6]', async ({
    kafka: server,
    postgres,
  }) => {
    const options = await ownTopics(server, 'order', 'order.dlq');
    const here = await testService(postgres);
    const orders = here.another({ transport: kafka(options) });
    orders.project(placed, 'book', async ({ n }, tx) => void (await insert(tx, here.schema, n)));
    await here.start({ of: orders });
    await here.inTransaction((tx) => orders.send(tx, placed, { order: 'a', n: 1 }));
    await expect.poll(() => here.column(`select n from $.effect`)).toEqual([1]);
    const broker = openBroker(options);
    const { stored } = await consuming(broker, { group: 'spy' });
    await expect.poll(() => stored.length).toBe(1);
    const again = { type: 'order.placed', isDead: false, ...stored[0] } as OutboundMessage;
    // One after the other: copies that arrive together are counted once.
    for (const times of [2, 3]) {
      await broker.publish([again]);
      await expect.poll(() => here.column(`select times from $.inbox`)).toEqual([times]);
    }
    await expect.poll(() => new Set(stored.map(({ sourceId }) => sourceId)).size).toBe(3);
    expect(await here.column(`select n from $.effect`)).toEqual([1]);
  });

  test('reads messages of foreign make through decode: text, keys that are no text, tombstones [S1.10]', async ({
    kafka: server,
    postgres,
  }) => {
    const options = await ownTopics(server, 'legacy');
    const here = await testService(postgres);
    const legacy = event<{ id: string; state: string | null }>('legacy.changed');
    const seen: unknown[] = [];
    const orders = here.another({
      transport: kafka({
        ...options,
        topic: () => 'legacy',
        decode: ({ body, key = '', headers }) => ({
          type: 'legacy.changed',
          payload: { id: key, state: body.length === 0 ? null : Buffer.from(body).toString(), by: headers['by'] },
        }),
      }),
    });
    orders.on(legacy, 'follow', (payload) => void seen.push(payload));
    await here.start({ of: orders });
    const topic = `${options.prefix}legacy`;
    const keys = [Buffer.from('one'), Buffer.from([0xff, 0x01]), Buffer.from('gone')];
    const values = [Buffer.from('new'), Buffer.from('old'), null];
    const headers = new Map([[Buffer.from('by'), Buffer.from('hand')]]);
    const messages = keys.map((key, at) => ({ topic, partition: 0, key, value: values[at] as Buffer, headers }));
    await foreignProducer(server.url).send({ messages, acks: -1 });
    await expect
      .poll(() => seen.toSorted((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b))))
      .toEqual([
        { id: '/wE=', state: 'old', by: 'hand' },
        { id: 'gone', state: null, by: 'hand' },
        { id: 'one', state: 'new', by: 'hand' },
      ]);
  });

  test('keeps bytes that nobody can read as a dead letter, all of them, and goes on [S0.9]', async ({
    kafka: server,
    postgres,
  }) => {
    const options = await ownTopics(server, 'order', 'order.dlq');
    const here = await testService(postgres);
    const orders = here.another({ transport: kafka(options) });
    const seen: number[] = [];
    orders.on(placed, 'book', ({ n }) => void seen.push(n));
    await here.start({ of: orders });
    const body = Buffer.from(range(256));
    const topic = `${options.prefix}order`;
    const headers = new Map([
      [Buffer.from('ce_type'), Buffer.from('order.placed')],
      [Buffer.from('ce_id'), Buffer.from('7')],
    ]);
    await foreignProducer(server.url).send({
      messages: [{ topic, partition: 0, key: Buffer.from('a'), value: body, headers }],
      acks: -1,
    });
    await here.inTransaction((tx) => orders.send(tx, placed, { order: 'b', n: 2 }));
    await expect.poll(() => seen).toEqual([2]);
    const dead = `select payload ->> 'body' from $.delivery where state = 2`;
    await expect.poll(() => here.column(dead)).toEqual([body.toString('base64')]);
    expect(await here.column(`select payload ->> 'sourceId' from $.delivery where state = 2`)).toEqual([
      `kafka:${topic}@0@0`,
    ]);
    expect(await here.column(`select error ->> 'code' from $.delivery where state = 2`)).toEqual([
      'MESSAGE_UNREADABLE',
    ]);
  });
});

describe('copies of dead letters on Kafka', () => {
  test('are made once each, also while one of them cannot be made because its topic is missing [S0.9]', async ({
    kafka: server,
    postgres,
  }) => {
    const options = await ownTopics(server, 'order', 'order.dlq', 'invoice');
    const here = await testService(postgres);
    const paid = event<number>('invoice.paid');
    const orders = here.another({ transport: kafka(options) });
    orders.on([placed, paid], 'book', () => {
      throw new TerminalHandlerError('no such order');
    });
    await here.start({ of: orders });
    await here.inTransaction(async (tx) => {
      await orders.send(tx, paid, 1);
      await orders.send(tx, placed, { order: 'a', n: 1 });
    });
    const failed = (): readonly unknown[] =>
      here.events.filter((one) => one.kind === 'transport-failed' && one.during === 'mirror');
    await expect.poll(() => failed().length).toBeGreaterThan(2);
    const { stored } = await consuming(openBroker(options), { isDead: true });
    await expect.poll(() => stored.map(numberIn)).toEqual([1]);
    expect(stored[0]?.headers).toMatchObject({ 'dlq-message': 'no such order', 'dlq-attempts': '1' });
    await createTopics(server.url, [`${options.prefix}invoice.dlq`]);
    await expect.poll(() => here.column(`select count(*)::int from $.delivery where mirrored < cycle`)).toEqual([0]);
    expect(stored.length).toBe(1);
  });

  test('of what could not be read are the bytes as they came, where its type belongs [S0.9]', async ({
    kafka: server,
    postgres,
  }) => {
    const options = await ownTopics(server, 'order', 'order.dlq');
    const here = await testService(postgres);
    const orders = here.another({ transport: kafka(options) });
    orders.on(placed, 'book', () => undefined);
    await here.start({ of: orders });
    const bytes = { topic: `${options.prefix}order`, partition: 0, value: Buffer.from([0xff, 0x00, 0x7b]) };
    const typed = new Map([[Buffer.from('ce_type'), Buffer.from('order.placed')]]);
    await foreignProducer(server.url).send({ messages: [bytes, { ...bytes, headers: typed }], acks: -1 });
    await expect.poll(() => here.column(`select count(*)::int from $.delivery where mirrored = cycle`)).toEqual([2]);
    const { stored } = await consuming(openBroker(options), { isDead: true });
    await expect.poll(() => stored.length).toBe(1);
    expect([...(stored[0]?.body ?? [])]).toEqual([0xff, 0x00, 0x7b]);
    expect(stored[0]?.headers).toMatchObject({ 'dlq-reason': 'MESSAGE_UNREADABLE' });
    expect(stored[0]?.headers['dlq-source']).toBe(`kafka:${options.prefix}order@0@1`);
  });
});

function insert(tx: { query(text: string, values: unknown[]): Promise<unknown> }, schema: string, n: number): unknown {
  return tx.query(`insert into "${schema}".effect (id, n) values ('effect', $1)`, [n]);
}
