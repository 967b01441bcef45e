import { describe, expect } from 'vitest';
import { event } from '../../src/index.ts';
import { localBroker } from '../../src/testing/index.ts';
import type { HandlerDefinition, OutboundItem, OutboundOutcome } from '../../src/relay/handler.ts';
import { transportOf } from '../../src/transport/index.ts';
import type { Transport, TransportHost } from '../../src/transport/transport.ts';
import { needs } from '../support/needs.ts';
import { testService } from '../relay/service.ts';

const test = needs('postgres');

const placed = event<{ order: string; n: number }>('order.placed', { key: ({ order }) => order });

describe('a message that goes through a broker', () => {
  test('reaches the handlers of every service that takes it from there, once, in order, and nobody before [S1.5] [S1.6]', async ({
    postgres,
  }) => {
    const here = await testService(postgres);
    const broker = localBroker();
    const transport = transportOf(broker);
    const seen: string[] = [];
    const orders = here.another({ service: 'orders', transport });
    const mail = here.another({ service: 'mail', transport });
    orders.on(placed, 'book', ({ order, n }, { source }) => void seen.push(`book ${order} ${n} ${source}`));
    mail.on(placed, 'mail', ({ order, n }, { source }) => void seen.push(`mail ${order} ${n} ${source}`));
    await here.start({ of: orders });
    await here.start({ of: mail });
    await here.inTransaction(async (tx) => {
      for (const n of [1, 2, 3]) await orders.send(tx, placed, { order: 'a', n });
    });
    await expect.poll(() => seen.length).toBe(6);
    for (const who of ['book', 'mail']) {
      expect(seen.filter((one) => one.startsWith(who))).toEqual([1, 2, 3].map((n) => `${who} a ${n} orders`));
    }
    expect(broker.published('order')).toHaveLength(3);
  });

  test('finds what its broker needs brought before there is a lease to keep', async ({ postgres }) => {
    const here = await testService(postgres);
    const said: string[] = [];
    const broker = Object.assign(localBroker(), { load: async () => void said.push('loaded') });
    const orders = here.another({ transport: transportOf(broker) });
    orders.on(placed, 'book', () => undefined);
    await here.start({ of: orders, observers: [({ kind }) => void said.push(kind)] });
    await expect.poll(() => said).toContain('units-acquired');
    expect(said[0]).toBe('loaded');
  });

  test('and is published twice has one effect: it is told by its id, not by where it is found [S1.6]', async ({
    postgres,
  }) => {
    const here = await testService(postgres);
    const broker = localBroker();
    const orders = here.another({ transport: transportOf(broker) });
    let calls = 0;
    orders.on(placed, 'book', () => void calls++);
    await here.start({ of: orders });
    await here.inTransaction((tx) => orders.send(tx, placed, { order: 'a', n: 1 }));
    await expect.poll(() => calls).toBe(1);
    const [message] = broker.published('order');
    // One after the other: copies that arrive together are counted once.
    for (const times of [2, 3]) {
      await broker.publish([message as never]);
      await expect.poll(() => here.column(`select times from $.inbox`)).toEqual([times]);
    }
    expect(calls).toBe(1);
  });

  test('carries the trace that its publishing was given, each its own, and otherwise the one it was sent with [S1.10]', async ({
    postgres,
  }) => {
    const here = await testService(postgres);
    const broker = localBroker();
    const orders = here.another({ transport: transportOf(broker) });
    const sentWith = (text: string): string => `00-${text.repeat(32)}-${text.repeat(16)}-01`;
    await here.start({
      of: orders,
      handlers: ['to-local'],
      wrapRun: ({ delivery: { key }, isPublish }, run) =>
        run(key !== 'c' && isPublish ? { traceparent: sentWith(key ?? ''), tracestate: `k=${key}` } : undefined),
    });
    await here.inTransaction(async (tx) => {
      for (const order of ['a', 'b', 'c']) await orders.send(tx, placed, { order, n: 1 }, { tracestate: 'k=sent' });
    });
    await expect.poll(() => broker.published('order')).toHaveLength(3);
    const headers = broker.published('order').map(({ key, headers: own }) => [key, own]);
    expect(Object.fromEntries(headers)).toEqual({
      a: { traceparent: sentWith('a'), tracestate: 'k=a' },
      b: { traceparent: sentWith('b'), tracestate: 'k=b' },
      c: { tracestate: 'k=sent' },
    });
  });

  test('is known to be given up by whoever publishes it, also where its publishing was given a trace [S1.5] [S1.10]', async ({
    postgres,
  }) => {
    const here = await testService(postgres);
    const published: OutboundItem[] = [];
    const goOn = Promise.withResolvers<void>();
    const way = transportOf(localBroker());
    const slow = async (items: readonly OutboundItem[]): Promise<readonly OutboundOutcome[]> => {
      published.push(...items);
      await goOn.promise;
      return items.map(() => ({ kind: 'published' }));
    };
    const transport: Transport = {
      ...way,
      handlers: <Tx>(host: TransportHost) => {
        const { to, from } = way.handlers<Tx>(host);
        return { to: { ...to, handler: { ...to.handler, publish: slow } as HandlerDefinition<Tx> }, from };
      },
    };
    const orders = here.another({ transport });
    const trace = { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` };
    const relay = await here.start({ of: orders, handlers: ['to-local'], wrapRun: (_, run) => run(trace) });
    await here.inTransaction((tx) => orders.send(tx, placed, { order: 'a', n: 1 }));
    await expect.poll(() => published).toMatchObject([{ trace, isGivenUp: false }]);
    const stopped = relay.stop({ drainMs: 20 });
    await expect.poll(() => published[0]?.isGivenUp).toBe(true);
    goOn.resolve();
    await stopped;
  });

  test('waits where it is while the broker is away, however long, and no attempt is counted [S1.5]', async ({
    postgres,
  }) => {
    const here = await testService(postgres);
    const broker = localBroker();
    const orders = here.another({ transport: transportOf(broker) });
    const seen: number[] = [];
    orders.on(placed, 'book', ({ n }) => void seen.push(n));
    broker.isAway = true;
    await here.start({ of: orders });
    await here.inTransaction(async (tx) => {
      for (const n of [1, 2, 3]) await orders.send(tx, placed, { order: 'a', n });
    });
    const failures = (): readonly unknown[] =>
      here.events.filter((one) => one.kind === 'transport-failed' && one.during === 'publish');
    await expect.poll(() => failures().length).toBeGreaterThan(3);
    expect(await here.column(`select attempts from $.delivery`)).toEqual([0, 0, 0]);
    broker.isAway = false;
    await expect.poll(() => seen).toEqual([1, 2, 3]);
  });

  test('and cannot be read is a dead letter with all its bytes, and is read when the code can [S0.9]', async ({
    postgres,
  }) => {
    const here = await testService(postgres);
    const broker = localBroker();
    const orders = here.another({ transport: transportOf(broker) });
    const seen: unknown[] = [];
    orders.on(placed, 'book', (payload) => void seen.push(payload));
    const relay = await here.start({ of: orders });
    const body = Buffer.from([0xff, 0xfe, 0x00, 0x01]);
    const attributes = { type: 'order.placed', id: '7', source: 'elsewhere' };
    await broker.publish([{ type: 'order.placed', key: 'a', isDead: false, attributes, headers: { note: 'x' }, body }]);
    const dead = `select payload ->> 'body' from $.delivery where state = 2`;
    await expect.poll(() => here.column(dead)).toEqual([body.toString('base64')]);
    expect(await here.column(`select error ->> 'code' from $.delivery where state = 2`)).toEqual([
      'MESSAGE_UNREADABLE',
    ]);
    await relay.stop();

    const wiser = localBroker({
      decode: (message) => ({ type: 'order.placed', payload: [...message.body], key: message.key }),
    });
    const mended = here.another({ transport: transportOf(wiser) });
    mended.on(placed, 'book', (payload) => void seen.push(payload));
    await here.start({ of: mended });
    await here.column(
      `select $.operator_replay(array_agg(id), array_agg(handler), null, 'test', null) from $.delivery where state = 2`,
    );
    await expect.poll(() => seen).toEqual([[0xff, 0xfe, 0x00, 0x01]]);
  });

  test('and was written by a service of ours is read as it is, also where decode reads what others wrote [S1.5]', async ({
    postgres,
  }) => {
    const here = await testService(postgres);
    const broker = localBroker({
      decode: ({ headers, body }) => ({
        type: `legacy.${headers['kind'] ?? 'unknown'}`,
        payload: Buffer.from(body).toString(),
      }),
    });
    const orders = here.another({ transport: transportOf(broker) });
    const legacy = event<string>('legacy.paid');
    const seen: unknown[] = [];
    orders.on([placed, legacy], 'book', (payload) => void seen.push(payload));
    await here.start({ of: orders });
    await here.inTransaction((tx) => orders.send(tx, placed, { order: 'a', n: 1 }));
    await expect.poll(() => seen).toEqual([{ order: 'a', n: 1 }]);
    const of = { key: 'a', isDead: false, attributes: {}, headers: { kind: 'paid' } };
    await broker.publish([{ ...of, type: 'legacy.paid', body: Buffer.from('EUR 5') }]);
    await expect.poll(() => seen).toEqual([{ order: 'a', n: 1 }, 'EUR 5']);
  });

  test('may be of a type that goes another way than the others [S1.5]', async ({ postgres }) => {
    const here = await testService(postgres);
    const [first, second] = [localBroker({ name: 'first' }), localBroker({ name: 'second' })];
    const paid = event<number>('invoice.paid');
    const noted = event<number>('note.taken');
    const orders = here.another({
      transport: [
        { events: ['order.*'], transport: transportOf(first) },
        { events: [paid], transport: transportOf(second) },
      ],
    });
    const seen: string[] = [];
    orders.on([placed, paid, noted], 'all', (_, { type }) => void seen.push(type));
    await here.start({ of: orders });
    await here.inTransaction(async (tx) => {
      await orders.send(tx, placed, { order: 'a', n: 1 });
      await orders.send(tx, paid, 1);
      await orders.send(tx, noted, 1);
    });
    await expect.poll(() => [...seen].sort()).toEqual(['invoice.paid', 'note.taken', 'order.placed']);
    expect([
      first.published('order').length,
      second.published('invoice').length,
      first.published('note').length,
    ]).toEqual([1, 1, 0]);
  });

  test('of a type nobody here takes is left alone, and others are handled [S1.5]', async ({ postgres }) => {
    const here = await testService(postgres);
    const broker = localBroker();
    const orders = here.another({ transport: transportOf(broker) });
    const shipped = event<number>('order.shipped');
    const seen: string[] = [];
    orders.on(placed, 'book', (_, { type }) => void seen.push(type));
    await here.start({ of: orders });
    await here.inTransaction(async (tx) => {
      await orders.send(tx, shipped, 1);
      await orders.send(tx, placed, { order: 'a', n: 1 });
    });
    await expect.poll(() => seen).toEqual(['order.placed']);
    expect(await here.column(`select type from $.inbox join $.delivered using (id) where handler <> 0`)).not.toContain(
      'order.shipped',
    );
  });
});
