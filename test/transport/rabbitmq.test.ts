import { describe, expect, onTestFinished } from 'vitest';
import { event, HoldfastError } from '../../src/index.ts';
import { rabbitmq, type RabbitmqOptions } from '../../src/rabbitmq/index.ts';
import { rabbitmqBroker } from '../../src/rabbitmq/rabbitmq.ts';
import type { Broker, InboundMessage, OutboundMessage } from '../../src/transport/index.ts';
import { isRefusedPlace } from '../../src/transport/refused-place.ts';
import { needs, type TestServer } from '../support/needs.ts';
import { connected, dropTopology } from '../support/rabbitmq-server.ts';
import { testService } from '../relay/service.ts';

const test = needs('postgres', 'rabbitmq');
const placed = event<{ order: string; n: number }>('order.placed', { key: ({ order }) => order });

/** A broker with names of its own, which are taken away after the test. */
function opened(
  { url, namespace }: TestServer,
  options: Partial<RabbitmqOptions> = {},
): { readonly broker: Broker; readonly prefix: string; readonly another: (more?: Partial<RabbitmqOptions>) => Broker } {
  const prefix = `${namespace}.${(prefixes += 1)}.`;
  const brokers: Broker[] = [];
  const another = (more: Partial<RabbitmqOptions> = {}): Broker => {
    const broker = rabbitmqBroker({ url, prefix, ...options, ...more });
    brokers.push(broker);
    return broker;
  };
  onTestFinished(async () => {
    for (const broker of brokers) await broker.close();
    await dropTopology(url, prefix, ['order', 'invoice', 'holdfast'], ['mail', 'orders']);
  });
  return { broker: another(), prefix, another };
}

let prefixes = 0;

function message(about: Partial<OutboundMessage> & { n?: number } = {}): OutboundMessage {
  const { n = 0, ...rest } = about;
  const type = rest.type ?? 'order.placed';
  const attributes = { specversion: '1.0', id: String(n), source: 'test', type, datacontenttype: 'application/json' };
  return {
    type,
    key: undefined,
    isDead: false,
    attributes,
    headers: {},
    body: Buffer.from(JSON.stringify({ n })),
    ...rest,
  };
}

/** Consumes until the test ends; holds what it is given while `isHolding`. */
async function consuming(
  broker: Broker,
  types: readonly string[] = ['order.placed'],
  isHolding = false,
): Promise<{ readonly seen: InboundMessage[]; readonly lost: unknown[]; readonly stop: () => Promise<void> }> {
  const seen: InboundMessage[] = [];
  const lost: unknown[] = [];
  const held = Promise.withResolvers<void>();
  held.promise.catch(() => undefined);
  const consumption = await broker.consume({
    group: 'mail',
    types,
    isDead: false,
    onBatch: async (batch) => {
      seen.push(...batch);
      if (isHolding) await held.promise;
    },
    onPlace: () => undefined,
    onLost: (error) => void lost.push(error),
  });
  const stop = async (): Promise<void> => {
    held.reject(new Error('stopped'));
    await consumption.stop();
  };
  onTestFinished(stop);
  return { seen, lost, stop };
}

const numbersOf = (messages: readonly InboundMessage[]): number[] =>
  messages.map(({ body }) => (JSON.parse(Buffer.from(body).toString()) as { n: number }).n);

describe('a message published to RabbitMQ', () => {
  test('that no queue is bound for has failed, and says so; the others of its batch are out [S1.5]', async ({
    rabbitmq: server,
  }) => {
    const { broker, another } = opened(server);
    const { seen } = await consuming(another());
    const results = await broker.publish([
      message({ n: 1 }),
      message({ n: 2, type: 'order.forgotten' }),
      message({ n: 3 }),
    ]);
    expect(results.map(({ kind }) => kind)).toEqual(['published', 'failed', 'published']);
    expect(results[1]).toMatchObject({
      error: { code: 'BROKER_REFUSED', message: expect.stringMatching(/"order\.forgotten".*no queue is bound for it/) },
    });
    await expect.poll(() => numbersOf(seen).toSorted((a, b) => a - b)).toEqual([1, 3]);
  });

  test('that may be dropped is dropped where nobody wants it [S1.5]', async ({ rabbitmq: server }) => {
    const { broker } = opened(server, { mandatory: false });
    expect(await broker.publish([message()])).toEqual([{ kind: 'published' }]);
  });

  test('whose type or headers are longer than the protocol has room for has failed alone [S1.5]', async ({
    rabbitmq: server,
  }) => {
    const { broker, another } = opened(server);
    const { seen } = await consuming(another());
    const results = await broker.publish([
      message({ n: 1 }),
      message({ n: 2, type: `order.${'x'.repeat(300)}` }),
      message({ n: 3, headers: { long: 'x'.repeat(70_000) } }),
      message({ n: 4 }),
    ]);
    expect(results.map(({ kind }) => kind)).toEqual(['published', 'failed', 'failed', 'published']);
    // That is wrong with them, and not with where they go.
    for (const result of results) if (result.kind === 'failed') expect(isRefusedPlace(result.error)).toBe(false);
    await expect.poll(() => numbersOf(seen).toSorted((a, b) => a - b)).toEqual([1, 4]);
  });

  test('fails while its exchange is deleted, and is published again once a reader has declared it [S1.5]', async ({
    rabbitmq: server,
  }) => {
    const { broker, another, prefix } = opened(server);
    const first = await consuming(another());
    expect(await broker.publish([message({ n: 1 })])).toEqual([{ kind: 'published' }]);
    await first.stop();
    await connected(server.url, async (connection) => {
      await (await connection.createChannel()).deleteExchange(`${prefix}order`);
    });
    // The publisher leaves the exchange to the readers, who bind to it again: one it made itself would have no queue bound.
    const refused = await broker.publish([message({ n: 2 }), message({ n: 3 })]);
    for (const result of refused)
      expect(result).toMatchObject({
        error: { code: 'BROKER_REFUSED', details: { place: `exchange "${prefix}order"` } },
      });
    const { seen } = await consuming(another());
    await expect.poll(() => broker.publish([message({ n: 4 })])).toEqual([{ kind: 'published' }]);
    await expect.poll(() => numbersOf(seen)).toContain(4);
  });

  test('goes to the next address when one does not answer [S1.5]', async ({ rabbitmq: server }) => {
    const { broker } = opened(server, { url: ['amqp://127.0.0.1:1', server.url], mandatory: false });
    await expect(broker.publish([message()])).rejects.toThrow(/ECONNREFUSED/);
    expect(await broker.publish([message()])).toEqual([{ kind: 'published' }]);
  });
});

describe('a queue of RabbitMQ', () => {
  test('is read by one consumer at a time, and the next takes over where it left off, in order [S1.9]', async ({
    rabbitmq: server,
  }) => {
    const { broker, another } = opened(server);
    const first = await consuming(another({ prefetch: 10 }), ['order.placed'], true);
    const second = await consuming(another({ prefetch: 10 }));
    const numbers = Array.from({ length: 60 }, (_, n) => n);
    for (const n of numbers) await broker.publish([message({ n, key: 'a' })]);
    await expect.poll(() => first.seen.length).toBeGreaterThan(0);
    expect(second.seen).toEqual([]);
    await first.stop();
    await expect.poll(() => second.seen.length).toBeGreaterThanOrEqual(60);
    expect(numbersOf(second.seen)).toEqual(numbers);
  });

  test('does not hand over again what was stored while its consumer stopped [S0.8]', async ({ rabbitmq: server }) => {
    const { broker, another } = opened(server);
    const stopped = Promise.withResolvers<void>();
    const consumption = await another().consume({
      group: 'mail',
      types: ['order.placed'],
      isDead: false,
      onBatch: async () => stopped.resolve(consumption.stop()),
      onPlace: () => undefined,
      onLost: stopped.reject,
    });
    await broker.publish([message({ n: 1 })]);
    await stopped.promise;
    const next = await consuming(another());
    await broker.publish([message({ n: 2 })]);
    await expect.poll(() => numbersOf(next.seen)).toContain(2);
    expect(numbersOf(next.seen)).toEqual([2]);
  });

  test('that exists with other settings is named, with what to do [S1.5]', async ({ rabbitmq: server }) => {
    const { another, prefix } = opened(server);
    await connected(server.url, async (connection) => {
      await (await connection.createChannel()).assertQueue(`${prefix}mail.order`, { durable: true });
    });
    const refusal = await consuming(another()).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(HoldfastError);
    expect(refusal).toMatchObject({
      code: 'BROKER_REFUSED',
      message: expect.stringMatching(/refused queue ".*mail\.order".*with other settings: empty and delete it/),
    });
  });

  test('that is deleted under its consumer is a loss that is told once [S1.5]', async ({ rabbitmq: server }) => {
    const { another, prefix } = opened(server);
    const { lost, stop } = await consuming(another());
    await connected(server.url, async (connection) => {
      await (await connection.createChannel()).deleteQueue(`${prefix}mail.order`);
    });
    await expect.poll(() => lost).toEqual([expect.objectContaining({ message: expect.stringMatching(/taken away/) })]);
    await stop();
    expect(lost).toHaveLength(1);
  });

  test('of types of several topics is several queues, and all of them are acknowledged [S0.8]', async ({
    rabbitmq: server,
  }) => {
    const { broker, another } = opened(server);
    const types = ['order.placed', 'invoice.paid'];
    const first = await consuming(another(), types);
    for (let n = 0; n < 40; n++) await broker.publish([message({ n, type: types[n % 2] ?? '' })]);
    await expect.poll(() => first.seen.length).toBe(40);
    await first.stop();
    const second = await consuming(another(), types);
    await broker.publish([message({ n: 99, type: 'invoice.paid' }), message({ n: 98 })]);
    await expect.poll(() => numbersOf(second.seen).toSorted((a, b) => a - b)).toEqual([98, 99]);
  });
});

describe('a service on RabbitMQ', () => {
  test('takes what a foreign client wrote as its decode reads it, once however often it is sent [S1.6]', async ({
    postgres,
    rabbitmq: server,
  }) => {
    const here = await testService(postgres);
    const { prefix } = opened(server);
    const transport = rabbitmq({
      url: server.url,
      prefix,
      decode: ({ body, attributes }) => {
        const [order = '', n] = Buffer.from(body).toString().split(';');
        return {
          type: 'order.placed',
          payload: { order, n: Number(n) },
          id: attributes['id'],
          source: 'till',
          key: order,
        };
      },
    });
    const orders = here.another({ transport });
    const seen: unknown[] = [];
    orders.on(placed, 'book', (payload, { source }) => void seen.push([payload, source]));
    await here.start({ of: orders });
    await sendRaw(server.url, `${prefix}order`, ['a;1', 'a;2', 'b;3']);
    await expect.poll(() => seen.length).toBe(3);
    await sendRaw(server.url, `${prefix}order`, ['a;2']);
    await expect.poll(() => here.column('select sum(times)::int from $.inbox')).toEqual([4]);
    expect(seen).toHaveLength(3);
    expect(seen).toEqual(
      expect.arrayContaining([
        [{ order: 'a', n: 1 }, 'till'],
        [{ order: 'a', n: 2 }, 'till'],
        [{ order: 'b', n: 3 }, 'till'],
      ]),
    );
  });

  test('keeps bytes that cannot be read as a dead letter, whole, and puts a copy where the tools of RabbitMQ look [S0.9]', async ({
    postgres,
    rabbitmq: server,
  }) => {
    const here = await testService(postgres);
    const { prefix, another } = opened(server);
    const orders = here.another({ transport: rabbitmq({ url: server.url, prefix }) });
    const refuse = ({ n }: { n: number }): void => {
      if (n === 13) throw new RangeError('no such order');
    };
    orders.on(placed, 'book', refuse, { terminalErrors: [RangeError] });
    await here.start({ of: orders });
    const bytes = Buffer.from([0xff, 0xfe, 0x00, 0x01]);
    await sendRaw(server.url, `${prefix}order`, [bytes]);
    const dead = `select payload ->> 'body' from $.delivery where state = 2`;
    await expect.poll(() => here.column(dead)).toEqual([bytes.toString('base64')]);
    await here.inTransaction((tx) => orders.send(tx, placed, { order: 'a', n: 13 }));
    await expect.poll(() => here.column('select count(*)::int from $.delivery where state = 2')).toEqual([2]);
    const copies: InboundMessage[] = [];
    const consumption = await another().consume({
      group: 'ops',
      types: ['order.placed'],
      isDead: true,
      onBatch: async (batch) => void copies.push(...batch),
      onPlace: () => undefined,
      onLost: () => undefined,
    });
    onTestFinished(() => consumption.stop());
    const reasons = (): readonly unknown[] => copies.map(({ key, headers }) => [key, headers['dlq-message']]);
    // The bytes may have been copied before the order was sent, or not until it had died too.
    await expect.poll(reasons).toContainEqual(['a', 'no such order']);
  });
});

/** As a client does that knows nothing of us: text or bytes, with an id of its own, and no headers. */
async function sendRaw(url: string, exchange: string, bodies: readonly (string | Buffer)[]): Promise<void> {
  await connected(url, async (connection) => {
    const [first = ''] = bodies;
    // Exchange and binding are there as soon as the service consumes. What is sent to a missing exchange ends its channel.
    const isRouted = async (): Promise<boolean> => {
      const own = await connection.createConfirmChannel();
      let wasReturned = false;
      own.on('error', () => undefined).once('return', () => (wasReturned = true));
      own.publish(exchange, 'order.placed', Buffer.from(first), { messageId: String(first), mandatory: true });
      const isConfirmed = await own.waitForConfirms().then(
        () => true,
        () => false,
      );
      return isConfirmed && !wasReturned;
    };
    await expect.poll(isRouted).toBe(true);
    const channel = await connection.createConfirmChannel();
    for (const body of bodies.slice(1))
      channel.publish(exchange, 'order.placed', Buffer.from(body), { messageId: String(body) });
    await channel.waitForConfirms();
  });
}
