import { trace } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import { Redis } from 'ioredis';
import type { ClientSession } from 'mongodb';
import { describe, expect, onTestFinished } from 'vitest';
import { exponential, policy } from '../../src/index.ts';
import { idempotency, layered } from '../../src/idempotency/index.ts';
import { type MongoHandle, mongoIdempotency, mongoInbox, mongoOutbox } from '../../src/mongodb/index.ts';
import { redisReplyCache } from '../../src/redis/index.ts';
import { idempotencyMetrics, logRelay, relayMetrics, traceRelay, traceSends } from '../../src/telemetry/index.ts';
import { localBroker } from '../../src/testing/index.ts';
import { transportOf } from '../../src/transport/index.ts';
import { keptLog } from '../http/kept-log.ts';
import { needs, type TestServer } from '../support/needs.ts';
import { tracedSpans } from '../support/spans.ts';
import { openDb, orderPlaced } from './outbox-stage.ts';

const test = needs('mongodb');
const spans = tracedSpans();

interface Order {
  readonly orderId: string;
  readonly n: number;
}

/** A sender and a receiver, two services in one database, with a broker between them. */
function stage(server: TestServer, handle: MongoHandle<Order, ClientSession> = () => undefined) {
  const { db, service } = openDb(server);
  const broker = localBroker();
  const tracer = trace.getTracer('holdfast');
  const outbox = mongoOutbox({ db, service, wrapSend: traceSends(tracer) });
  const inbox = mongoInbox({
    db,
    service: `${service}-in`,
    policy: policy({ maxAttempts: 2, schedule: exponential({ baseMs: 1, maxMs: 1 }), timeoutMs: 1_000 }),
  });
  inbox.on(orderPlaced, handle);
  const { logger, lines } = keptLog();
  /** What one process has. */
  const observed = () => {
    const metrics = relayMetrics();
    const { observe, wrapRun } = traceRelay(tracer);
    const options = { observers: [metrics.observe, observe, logRelay(logger)], wrapRun, pollMs: 20, leaseMs: 1_000 };
    return { metrics, options: { ...options, transport: transportOf(broker) } };
  };
  const send = (orderId: string, n = 1) =>
    outbox.transaction((session) =>
      outbox.send(
        session,
        orderPlaced,
        { orderId, n },
        { headers: { 'saga-id': orderId }, idempotencyKey: `key ${orderId}` },
      ),
    );
  const valueOf = (metrics: { text(): string }, name: string): number | undefined => {
    const line = metrics
      .text()
      .split('\n')
      .find((one) => one.startsWith(`${name} `));
    return line === undefined ? undefined : Number(line.slice(name.length + 1));
  };
  return { service, broker, outbox, inbox, lines, observed, send, valueOf };
}

describe('metrics of MongoDB', () => {
  test('show outbox_pending in the process that holds the lease, and in its successor when it stops [S1.10]', async ({
    mongodb,
  }) => {
    const { broker, outbox, observed, send, valueOf } = stage(mongodb);
    broker.isAway = true;
    const [first, second] = [observed(), observed()];
    await send('a');
    await send('b');
    const one = await outbox.start(first.options);
    onTestFinished(() => one.stop());
    await expect.poll(() => valueOf(first.metrics, 'outbox_pending')).toBe(2);
    expect(valueOf(first.metrics, 'holdfast_housekeeper')).toBe(1);
    const two = await outbox.start(second.options);
    onTestFinished(() => two.stop());
    await send('c');
    await expect.poll(() => valueOf(first.metrics, 'outbox_pending')).toBe(3);
    expect(valueOf(first.metrics, 'holdfast_outbox_oldest_seconds')).toBeGreaterThan(0);
    expect(valueOf(second.metrics, 'outbox_pending')).toBeUndefined();
    expect(valueOf(second.metrics, 'holdfast_housekeeper')).toBe(0);
    await one.stop();
    expect(valueOf(first.metrics, 'outbox_pending')).toBeUndefined();
    expect(valueOf(first.metrics, 'holdfast_units_owned')).toBe(0);
    await expect.poll(() => valueOf(second.metrics, 'outbox_pending')).toBe(3);
    broker.isAway = false;
    await expect.poll(() => valueOf(second.metrics, 'outbox_published_total{type="order.placed"}')).toBe(3);
    await expect.poll(() => valueOf(second.metrics, 'outbox_pending')).toBe(0);
  });

  test('count what was published, processed, came again and is dead, of an outbox and an inbox together [S1.10]', async ({
    mongodb,
  }) => {
    const { broker, outbox, inbox, observed, send, valueOf } = stage(mongodb, ({ orderId }) => {
      if (orderId === 'bad') throw new Error('no');
    });
    const { metrics, options } = observed();
    for (const box of [outbox, inbox]) {
      const running = await box.start(options);
      onTestFinished(() => running.stop());
    }
    const processed = (outcome: string): number | undefined =>
      valueOf(metrics, `consumer_processed_total{handler="inbox",type="order.placed",outcome="${outcome}"}`);
    // The first event is an increase: the counter was there before it.
    expect([processed('done'), processed('dead')]).toEqual([0, 0]);
    await send('good');
    await send('bad');
    await expect.poll(() => [processed('done'), processed('retry'), processed('dead')]).toEqual([1, 1, 1]);
    expect(valueOf(metrics, 'dlq_messages_total{handler="inbox",type="order.placed"}')).toBe(1);
    const out = 'consumer_processed_total{handler="to-local",type="order.placed",outcome="done"}';
    expect(valueOf(metrics, out)).toBe(2);
    await broker.publish(broker.published('order').slice(0, 1));
    await expect.poll(() => valueOf(metrics, 'consumer_dedup_hits_total{handler="from-local",type=""}')).toBe(1);
    await expect.poll(() => valueOf(metrics, 'holdfast_outbox_failed')).toBe(1);
    expect(valueOf(metrics, 'holdfast_units_owned')).toBe(2);
  });

  needs('mongodb', 'redis')(
    'count the requests that Redis answered, and MongoDB without it [S1.10]',
    async ({ mongodb, redis }) => {
      const { db, service } = openDb(mongodb);
      const client = new Redis(redis.url, { maxRetriesPerRequest: 0 });
      client.on('error', () => undefined);
      onTestFinished(() => client.disconnect());
      const metrics = idempotencyMetrics();
      const observers = [metrics.observe];
      const cache = redisReplyCache({ client, prefix: `${redis.namespace}:` });
      const store = layered({ cache, truth: mongoIdempotency({ db }), observers });
      const idem = idempotency({ service, store, observers });
      const charge = () => idem.once('k', async () => 7, { domain: 'charge' });
      const hits = (): string | undefined =>
        /^idempotency_cache_hits_total\{domain="charge"\} (\d+)$/m.exec(metrics.text())?.[1];
      await charge();
      expect(hits()).toBe('0');
      await charge();
      client.disconnect();
      expect(await charge()).toBe(7);
      expect(hits()).toBe('2');
    },
  );
});

const STEPS = [
  ' > send order.placed',
  'send order.placed > publish order.placed',
  'publish order.placed > handle order.placed',
  'handle order.placed > send order.placed',
];

describe('log lines and spans of MongoDB', () => {
  test('name the message, its key and its saga; one trace leads from the sender to the handler and on [S1.10]', async ({
    mongodb,
  }) => {
    let isReady = false;
    const { service, outbox, inbox, observed, send, lines } = stage(mongodb, async (order, session) => {
      if (order.n === 2) return;
      if (!isReady) throw new Error('not yet');
      await outbox.send(session, orderPlaced, { ...order, n: 2 });
    });
    const { options } = observed();
    for (const box of [outbox, inbox]) {
      const running = await box.start(options);
      onTestFinished(() => running.stop());
    }
    const { id } = await send('o1');
    const about = { eventId: id, idempotencyKey: 'key o1', sagaId: 'o1' };
    await expect
      .poll(() => lines.filter(({ level }) => level === 'warn').map(({ fields }) => fields))
      .toContainEqual(expect.objectContaining({ ...about, operation: 'inbox' }));
    await expect.poll(() => inbox.dead.list()).toHaveLength(1);
    isReady = true;
    expect(await inbox.dead.replay(`${service}-in ${id}`)).toBe(true);
    const traceId = lines.find(({ fields }) => fields.eventId === id)?.fields.traceId;
    const seen: ReadableSpan[] = [];
    const tree = (): unknown => {
      seen.push(...spans().filter((one) => one.spanContext().traceId === traceId));
      const name = (spanId: string | undefined): string =>
        seen.find((one) => one.spanContext().spanId === spanId)?.name ?? '';
      return seen.map((one) => `${name(one.parentSpanContext?.spanId)} > ${one.name}`).toSorted();
    };
    await expect.poll(tree).toEqual(expect.arrayContaining(STEPS));
  });
});
