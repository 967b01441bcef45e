import * as library from '@nats-io/jetstream';
import type { ConsumerConfig, StreamConfig } from '@nats-io/jetstream';
import * as transport from '@nats-io/transport-node';
import { describe, expect, onTestFinished } from 'vitest';
import { event } from '../../src/index.ts';
import { nats, type NatsOptions } from '../../src/nats/index.ts';
import { natsBroker } from '../../src/nats/nats.ts';
import type { JetStreamManager } from '../../src/nats/nats-library.ts';
import { trimStream } from '../../src/nats/trim-stream.ts';
import type { InboundMessage } from '../../src/transport/broker.ts';
import { isRefusedPlace } from '../../src/transport/refused-place.ts';
import { needs } from '../support/needs.ts';
import { testService } from '../relay/service.ts';
import { consuming, message } from './broker-kit.ts';
import { ask, countIn, makeStream, openBroker, ownNames } from './nats-kit.ts';
import { numberIn } from './number-in.ts';

const test = needs('postgres', 'nats');
const placed = event<{ order: string; n: number }>('order.placed', { key: ({ order }) => order });
const MINUTE = 60_000_000_000;
const sorted = (numbers: readonly number[]): number[] => numbers.toSorted((a, b) => a - b);

describe('options of NATS', () => {
  test('that cannot be are refused together, a window that is shorter than a message may come again among them [X.16]', () => {
    const wrong = { servers: [], duplicateWindowMs: 29_000, replicas: 0, client: {} as never };
    expect(() => natsBroker(wrong)).toThrow(/servers.*replicas.*duplicateWindowMs.*30000.*client/s);
  });
});

describe('a stream of NATS that is there already', () => {
  for (const [what, config, words] of [
    ['is in memory', { storage: 'memory' }, /memory, and a restart loses it/],
    ['confirms nothing', { no_ack: true }, /confirms nothing/],
    ['drops what nobody wants yet', { retention: 'interest' }, /retention is interest/],
    ['forgets ids too soon', { duplicate_window: MINUTE }, /raise duplicate_window/],
    ['drops the oldest', { max_msgs: 10, discard: 'old' }, /set discard to new/],
    ['drops what is old', { max_age: 3 * MINUTE }, /older than 180000 ms, read or not/],
    ['has other subjects', { subjects: ['tills.>'] }, /only tills\.>/],
  ] satisfies [string, Partial<StreamConfig>, RegExp][])
    test(`and ${what} is refused to who publishes and to who reads, and waits to be put right [X.16]`, async ({
      nats: server,
    }) => {
      const own = ownNames(server);
      const name = await makeStream(own, 'order', { duplicate_window: 2 * MINUTE, ...config });
      onTestFinished(() => ask(own, async (manager) => void (await manager.streams.delete(name))));
      const broker = openBroker(own);
      const [result] = await broker.publish([message(1)]);
      const error = result?.kind === 'failed' ? result.error : undefined;
      const refusal = { code: 'BROKER_REFUSED', message: expect.stringMatching(words) };
      expect(error).toMatchObject({ ...refusal, details: { place: `stream "${name}"` } });
      expect(isRefusedPlace(error)).toBe(true);
      await expect(consuming(broker)).rejects.toMatchObject(refusal);
    });

  test('and has a consumer of our name that would lose messages is not read [X.16]', async ({ nats: server }) => {
    const own = ownNames(server);
    const stream = await makeStream(own, 'order', { duplicate_window: 2 * MINUTE });
    for (const [config, words] of [
      [{ ack_policy: 'none' }, /ack_policy is none/],
      [{ max_deliver: 3 }, /handed over 3 times/],
      [{ filter_subject: `${stream}.order.paid` }, /leaves subjects out/],
      [{ ack_wait: 1_000_000_000 }, /two signs of life/],
    ] satisfies [Partial<ConsumerConfig>, RegExp][]) {
      await ask(own, (manager) =>
        manager.consumers.add(stream, { durable_name: 'mail', ack_policy: 'explicit', ...config }),
      );
      const place = `consumer "mail" of stream "${stream}"`;
      await expect(consuming(openBroker(own))).rejects.toMatchObject({
        code: 'BROKER_REFUSED',
        message: expect.stringMatching(words),
        details: { place },
      });
      await ask(own, (manager) => manager.consumers.delete(stream, 'mail'));
    }
  });

  test('and made by operators is used as it is; what is missing is named and not made [S1.5]', async ({
    nats: server,
  }) => {
    const own = { ...ownNames(server), declares: false };
    const broker = openBroker(own);
    const missing = { message: expect.stringMatching(/-order".*it is not there; make it/) };
    expect(await broker.publish([message(1)])).toMatchObject([{ kind: 'failed', error: missing }]);
    await expect(consuming(broker)).rejects.toMatchObject(missing);
    const made = openBroker({ ...own, declares: true });
    const first = await consuming(made);
    await first.consumption.stop();
    const { stored } = await consuming(broker);
    expect(await broker.publish([message(2)])).toEqual([{ kind: 'published' }]);
    await expect.poll(() => stored.map(numberIn)).toEqual([2]);
  });

  test('and full refuses, which is no fault of the message; one larger than it takes is [S1.5]', async ({
    nats: server,
  }) => {
    const own = ownNames(server);
    const limits = { max_msgs: 1, max_msg_size: 500, discard: 'new', duplicate_window: 2 * MINUTE } as const;
    await makeStream(own, 'order', limits);
    const broker = openBroker(own);
    const large = message(2, { body: Buffer.alloc(1_000) });
    const [first, tooLarge, second] = [
      await broker.publish([message(1)]),
      await broker.publish([large]),
      await broker.publish([message(3)]),
    ].flat();
    expect([first?.kind, tooLarge?.kind, second?.kind]).toEqual(['published', 'failed', 'failed']);
    const errors = [tooLarge, second].map((one) => (one?.kind === 'failed' ? one.error : undefined));
    expect(errors.map(isRefusedPlace)).toEqual([false, true]);
    expect(errors[1]).toMatchObject({ message: expect.stringMatching(/maximum messages exceeded/) });
  });

  test('and has our subjects under another name is named in the error [S1.5]', async ({ nats: server }) => {
    const own = ownNames(server);
    await makeStream(own, 'other', { subjects: [`${own.prefix}order.>`] });
    const results = await openBroker(own).publish([message(1)]);
    expect(results).toMatchObject([{ error: { message: expect.stringMatching(/-order".*subjects overlap/) } }]);
  });
});

describe('a message published to NATS', () => {
  test('is left out by the stream when it comes again, and is not when an operator sends it again [S1.6]', async ({
    nats: server,
  }) => {
    const own = ownNames(server);
    const [first, second] = [openBroker(own), openBroker(own)];
    const one = message(1);
    for (const broker of [first, first, second]) expect(await broker.publish([one])).toEqual([{ kind: 'published' }]);
    expect(await countIn(own, `${own.prefix}order`)).toBe(1);
    await first.publish([{ ...one, resends: 1 }]);
    expect(await countIn(own, `${own.prefix}order`)).toBe(2);
  });

  test('goes to the next address when one does not answer, also by libraries that are handed in [S1.5]', async ({
    nats: server,
  }) => {
    const own = ownNames(server);
    const client = { ...transport, ...library };
    const broker = openBroker({ ...own, servers: ['nats://127.0.0.1:1', server.url], client });
    expect(await broker.publish([message(1)])).toEqual([{ kind: 'published' }]);
  });

  test('finds its stream again when somebody has taken it away [S1.5]', async ({ nats: server }) => {
    const own = ownNames(server);
    const broker = openBroker(own);
    await broker.publish([message(1)]);
    await ask(own, (manager) => manager.streams.delete(`${own.prefix}order`));
    // Nobody listens any more, which may as well be a JetStream that is away: it is tried again.
    await expect(broker.publish([message(2)])).rejects.toThrow(/jetstream/);
    expect(await broker.publish([message(3)])).toEqual([{ kind: 'published' }]);
  });

  test('of a type with dots in odd places goes through, and two topics that get one name share a stream [S1.5]', async ({
    nats: server,
  }) => {
    const own = ownNames(server);
    const broker = openBroker(own);
    const types = ['order..placed', 'order.item.added', 'order-item.added', 'a/b:c.d.'];
    const { stored } = await consuming(broker, { types });
    await broker.publish(types.map((type, n) => message(n, { type })));
    await expect.poll(() => sorted(stored.map(numberIn))).toEqual([0, 1, 2, 3]);
    expect(new Set(stored.map(({ attributes }) => attributes['type']))).toEqual(new Set(types));
    expect(await countIn(own, `${own.prefix}order-item`)).toBe(2);
  });
});

describe('a stream of NATS', () => {
  test('that cannot be read holds up no other, and is read once it can be; taken away while it is read, it is made again [S1.5]', async ({
    nats: server,
  }) => {
    const own = ownNames(server);
    const closed = await makeStream(own, 'closed', { storage: 'memory' });
    const broker = openBroker(own);
    const { stored, waiting, lost } = await consuming(broker, { types: ['closed.door', 'order.placed'] });
    expect((await broker.publish([message(1), message(2)])).map(({ kind }) => kind)).toEqual([
      'published',
      'published',
    ]);
    await expect.poll(() => sorted(stored.map(numberIn))).toEqual([1, 2]);
    expect([...waiting]).toEqual([[closed, expect.objectContaining({ code: 'BROKER_REFUSED' })]]);
    const dropped = (): Promise<boolean> => ask(own, (manager) => manager.streams.delete(closed));
    await dropped();
    await expect.poll(() => waiting.size).toBe(0);
    await broker.publish([message(3, { type: 'closed.door' })]);
    await expect.poll(() => sorted(stored.map(numberIn))).toEqual([1, 2, 3]);
    await dropped();
    await expect.poll(() => waiting.size).toBe(1);
    await expect.poll(() => waiting.size).toBe(0);
    // Of what it knows to be there, the first try finds nobody.
    const again = (): Promise<unknown> => broker.publish([message(4, { type: 'closed.door' })]).catch(() => []);
    await expect.poll(again).toEqual([{ kind: 'published' }]);
    await broker.publish([message(5)]);
    await expect.poll(() => sorted(stored.map(numberIn))).toEqual([1, 2, 3, 4, 5]);
    expect(lost).toEqual([]);
  });

  test('is read by one at a time, and what is worked on for long does not come again [S0.8] [S1.9]', async ({
    nats: server,
  }) => {
    const own = ownNames(server);
    const stream = await makeStream(own, 'order', { duplicate_window: 2 * MINUTE });
    const slow = { durable_name: 'mail', ack_policy: 'explicit', ack_wait: 6_000_000_000 } as const;
    await ask(own, (manager) => manager.consumers.add(stream, slow));
    const signs = await signsOfLife(own, `${stream}.mail`);
    const held = Promise.withResolvers<void>();
    const batches: InboundMessage[][] = [];
    const onBatch = async (batch: readonly InboundMessage[]): Promise<void> => {
      batches.push([...batch]);
      await held.promise;
    };
    const first = await consuming(openBroker(own), { onBatch });
    const second = await consuming(openBroker(own));
    await openBroker(own).publish([message(1), message(2)]);
    await expect.poll(() => batches.length).toBe(1);
    // Three signs are nine seconds; without them it would come again after six.
    await expect.poll(() => signs.length).toBeGreaterThanOrEqual(3 * (batches[0]?.length ?? 0));
    const { num_redelivered: again, num_waiting: asking } = await ask(own, (manager) =>
      manager.consumers.info(stream, 'mail'),
    );
    expect({ again, asking, ofSecond: second.stored }).toEqual({ again: 0, asking: 1, ofSecond: [] });
    held.resolve();
    const open = async (): Promise<number> =>
      (await ask(own, (manager) => manager.consumers.info(stream, 'mail'))).num_ack_pending;
    await expect.poll(open).toBe(0);
    expect([batches.flat().length, first.lost]).toEqual([2, []]);
  });

  test('has back at once all that its reader had or was on its way to it when it stopped [S0.8]', async ({
    nats: server,
  }) => {
    const own = ownNames(server);
    const stream = `${own.prefix}order`;
    const broker = openBroker(own);
    const held = Promise.withResolvers<never>();
    held.promise.catch(() => undefined);
    const { consumption } = await consuming(openBroker(own), { onBatch: () => held.promise });
    const body = Buffer.from(JSON.stringify({ n: 0, filling: 'x'.repeat(4_000) }));
    const flow = (): Promise<unknown> => broker.publish(Array.from({ length: 200 }, (_, n) => message(n, { body })));
    await flow();
    const flowing = [flow(), flow()];
    const stopping = consumption.stop();
    held.reject(new Error('it stops'));
    await Promise.all([stopping, ...flowing]);
    const again = new Set<number>();
    const connection = await transport.connect({ servers: server.url, reconnect: false });
    onTestFinished(() => connection.close());
    const consumer = await library.jetstream(connection).consumers.get(stream, 'mail');
    // More than there are: some come twice. What was forgotten would come after ten seconds.
    for await (const one of await consumer.fetch({ max_messages: 1_000, expires: 2_000 })) again.add(one.seq);
    expect(again.size).toBe(600);
  });

  test('loses only what every consumer has acknowledged, and of that only what is old [S1.5]', async ({
    nats: server,
  }) => {
    const own = ownNames(server);
    const stream = await makeStream(own, 'order', { duplicate_window: 2 * MINUTE });
    const broker = openBroker(own);
    await broker.publish(Array.from({ length: 6 }, (_, n) => message(n)));
    const { stored, consumption } = await consuming(broker);
    await expect.poll(() => stored.length).toBe(6);
    await consumption.stop();
    const trim = (keepMs: number, nowMs = Date.now()): Promise<void> =>
      ask(own, (manager) => trimStream(manager as unknown as JetStreamManager, stream, { keepMs, nowMs }));
    // A second consumer has read two of them, and a message in between was taken away by hand.
    await ask(own, async (manager) => {
      await manager.consumers.add(stream, { durable_name: 'books', ack_policy: 'none', deliver_policy: 'all' });
      await manager.streams.deleteMessage(stream, 2);
    });
    for (const keepMs of [0, 60_000]) await trim(keepMs);
    expect(await countIn(own, stream)).toBe(5);
    await ask(own, (manager) => manager.consumers.delete(stream, 'books'));
    for (const keepMs of [60_000, Infinity]) await trim(keepMs);
    expect(await countIn(own, stream)).toBe(5);
    const since = await ask(own, (manager) => manager.streams.getMessage(stream, { seq: 4 }));
    // All of them may be of one millisecond.
    await trim(0, (since?.time.getTime() ?? 0) + 1);
    const left = await countIn(own, stream);
    expect(left).toBeLessThanOrEqual(3);
    await trim(0);
    expect(await countIn(own, stream)).toBe(0);
  });
});

describe('a service on NATS', () => {
  test('takes what a foreign client wrote as its decode reads it, once however often it is sent [S1.6]', async ({
    postgres,
    nats: server,
  }) => {
    const here = await testService(postgres);
    const own = ownNames(server);
    const ofTill = nats({
      ...own,
      decode: ({ body, attributes }) => {
        const [order = '', n] = Buffer.from(body).toString().split(';');
        const payload = { order, n: Number(n) };
        return { type: attributes['type'] ?? '', payload, id: attributes['id'], source: 'till', key: order };
      },
    });
    const orders = here.another({ transport: ofTill });
    const seen: unknown[] = [];
    orders.on(placed, 'book', (payload, { source }) => void seen.push([payload, source]));
    await here.start({ of: orders });
    await sendRaw(own, [
      ['a;1', { 'Nats-Msg-Id': '1' }],
      ['a;2', { 'Nats-Msg-Id': '2' }],
    ]);
    await expect.poll(() => seen.length).toBe(2);
    // It has an id that the stream does not know, and we do.
    await sendRaw(own, [['a;2', { 'ce-id': '2' }]]);
    await expect.poll(() => here.column('select sum(times)::int from $.inbox')).toEqual([3]);
    expect(seen).toEqual([
      [{ order: 'a', n: 1 }, 'till'],
      [{ order: 'a', n: 2 }, 'till'],
    ]);
  });

  test('keeps bytes that cannot be read as a dead letter, whole, and puts copies into a stream of their own [S0.9]', async ({
    postgres,
    nats: server,
  }) => {
    const here = await testService(postgres);
    const own = ownNames(server);
    const orders = here.another({ transport: nats(own) });
    const refuse = ({ n }: { n: number }): void => {
      if (n === 13) throw new RangeError('no such order');
    };
    orders.on(placed, 'book', refuse, { terminalErrors: [RangeError] });
    await here.start({ of: orders });
    const bytes = Buffer.from([0xff, 0xfe, 0x00, 0x01]);
    await sendRaw(own, [[bytes, {}]]);
    const dead = `select payload ->> 'body' from $.delivery where state = 2`;
    await expect.poll(() => here.column(dead)).toEqual([bytes.toString('base64')]);
    await here.inTransaction((tx) => orders.send(tx, placed, { order: 'a', n: 13 }));
    const { stored } = await consuming(openBroker(own), { group: 'ops', isDead: true });
    const copies = (): readonly unknown[] => stored.map(({ key, headers: said }) => [key, said['dlq-message']]);
    await expect.poll(copies).toContainEqual(['a', 'no such order']);
    await expect.poll(() => countIn(own, `${own.prefix}order-dlq`)).toBe(2);
  });
});

/** What readers of a consumer say while they work: `+WPI`, for each message. */
async function signsOfLife({ servers }: NatsOptions, consumer: string): Promise<readonly string[]> {
  const connection = await transport.connect({ servers: String(servers), reconnect: false });
  onTestFinished(() => connection.close());
  const signs: string[] = [];
  connection.subscribe(`$JS.ACK.${consumer}.>`, {
    callback: (_, said) => {
      if (said.string() === '+WPI') signs.push(said.subject);
    },
  });
  return signs;
}

/** As a client does that knows nothing of us. The stream is there as soon as the service reads. */
async function sendRaw(
  { servers, prefix = '' }: NatsOptions,
  bodies: readonly (readonly [string | Buffer, Readonly<Record<string, string>>])[],
): Promise<void> {
  const connection = await transport.connect({ servers: String(servers), reconnect: false });
  onTestFinished(() => connection.close());
  const client = library.jetstream(connection);
  for (const [body, given] of bodies) {
    const own = transport.headers();
    for (const [name, value] of Object.entries(given)) own.append(name, value);
    const send = (): Promise<boolean> =>
      client.publish(`${prefix}order.order.placed`, body, { headers: own }).then(
        () => true,
        () => false,
      );
    await expect.poll(send).toBe(true);
  }
}
