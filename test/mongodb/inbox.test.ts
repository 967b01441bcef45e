import type { ClientSession } from 'mongodb';
import { describe, expect, onTestFinished } from 'vitest';
import { mongoInbox, type MongoHandle, mongoOutbox } from '../../src/mongodb/index.ts';
import type { RelayEvent } from '../../src/relay/relay-event.ts';
import { withRetry } from '../../src/retry/with-retry.ts';
import { type LocalBroker, localBroker } from '../../src/testing/index.ts';
import { type OutboundMessage, transportOf } from '../../src/transport/index.ts';
import { needs, type TestServer } from '../support/needs.ts';
import { openDb, orderPlaced } from './outbox-stage.ts';
import { privateMongodb } from './private-mongodb.ts';

const test = needs('mongodb');

interface Order {
  readonly orderId: string;
  readonly n: number;
}

function stage(server: TestServer, handle?: MongoHandle<Order, ClientSession>, about: { timeoutMs?: number } = {}) {
  const { db, service } = openDb(server);
  const broker = localBroker();
  const effects = db.collection<{ orderId: string; n: number }>(`effects_${service}`);
  const keep: MongoHandle<Order, ClientSession> = async (order, session) =>
    void (await effects.insertOne({ ...order }, { session }));
  const open = () => {
    const inbox = mongoInbox({ db, service, ...about });
    inbox.on(orderPlaced, async (order, session, ctx) => {
      await keep(order, session, ctx);
      await handle?.(order, session, ctx);
    });
    return inbox;
  };
  const inbox = open();
  const start = async (one = inbox, leaseMs = 10_000) => {
    const running = await one.start({ transport: transportOf(broker), pollMs: 20, leaseMs });
    onTestFinished(() => running.stop());
    return running;
  };
  const rows = db.collection('inbox_messages');
  const made = async () => (await effects.find().sort({ _id: 1 }).toArray()).map(({ orderId, n }) => `${orderId}${n}`);
  /** Makes the waits short that would take half a minute. */
  const hurry = async () => {
    await rows.updateMany({ service, state: 'waiting' }, [{ $set: { dueAt: '$$NOW' } }]);
    return inbox.dead.list();
  };
  return { db, service, broker, inbox, open, start, rows, effects, made, hurry };
}

let ids = 0;

function message(orderId: string, n: number, id = `m${(ids += 1)}`): OutboundMessage {
  const attributes = { specversion: '1.0', id, source: 'shop', type: 'order.placed' };
  const body = Buffer.from(JSON.stringify({ orderId, n }));
  return { type: 'order.placed', key: orderId, isDead: false, attributes, headers: { traceparent: '00-a-b-01' }, body };
}

const publish = (broker: LocalBroker, ...messages: OutboundMessage[]) => broker.publish(messages);

describe('an inbox in MongoDB', () => {
  test('makes one attempt of what its handler retries without a policy: its messages have attempts of their own [S1.6] [S0.1]', async ({
    mongodb,
  }) => {
    let calls = 0;
    const { broker, start, made } = stage(mongodb, async () => {
      const call = async (): Promise<void> => {
        calls += 1;
        throw Object.assign(new Error('down'), { status: 503 });
      };
      await withRetry('charge', call).catch(() => undefined);
    });
    await start();
    await publish(broker, message('a', 1));
    await expect.poll(made).toEqual(['a1']);
    expect(calls).toBe(1);
  });

  test('gives a message one effect, however often it arrives, and says where it was found [S1.6]', async ({
    mongodb,
  }) => {
    const { broker, start, made, rows, service } = stage(mongodb);
    const running = await start();
    const first = message('a', 1);
    await publish(broker, first, first, message('b', 1));
    await expect.poll(made).toHaveLength(2);
    await publish(broker, first);
    await running.stop();
    await running.stop();
    await start();
    await publish(broker, first, message('c', 1));
    await expect.poll(made).toHaveLength(3);
    expect((await made()).toSorted()).toEqual(['a1', 'b1', 'c1']);
    const kept = await rows.findOne({ service, sourceId: 'local:order@0' });
    expect(kept).toMatchObject({ state: 'done', payload: 'null', firstProcessedAt: expect.any(Date) as unknown });
    expect(Number(kept?.['lastArrivedAt'])).toBeGreaterThan(Number(kept?.['createdAt']));
  });

  test('hands over where a message comes from, and its trace [S1.10]', async ({ mongodb }) => {
    const seen: unknown[] = [];
    const { broker, start } = stage(mongodb, (_order, _session, ctx) => void seen.push(ctx));
    await start();
    await publish(broker, message('a', 1));
    await expect.poll(() => seen).toHaveLength(1);
    const about = { source: 'shop', sourceId: 'local:order@0', key: 'a', attempt: 1, maxAttempts: 7, replays: 0 };
    expect(seen[0]).toMatchObject({ ...about, traceparent: '00-a-b-01' });
  });

  test('tries a failing message seven times, then it is dead with the reason; others go on, its key waits [S1.7]', async ({
    mongodb,
  }) => {
    let isMended = false;
    const { broker, start, made, hurry, inbox } = stage(mongodb, ({ orderId, n }) => {
      if (orderId === 'bad' && n === 1 && !isMended) throw new Error('no such customer');
    });
    await start();
    await publish(broker, message('bad', 1), message('bad', 2), message('good', 1));
    await expect.poll(hurry).toMatchObject([{ key: 'bad', attempts: 7, reason: 'attempts' }]);
    expect(await made()).toEqual(['good1']);
    const [dead] = await inbox.dead.list();
    expect(dead).toMatchObject({ payload: { orderId: 'bad', n: 1 }, error: { message: 'no such customer' } });
    await expect
      .poll(() => broker.published('order.dlq').map(({ headers }) => headers))
      .toMatchObject([{ 'dlq-message': 'no such customer', 'dlq-attempts': '7' }]);
    isMended = true;
    expect(await inbox.dead.replay(dead?.id ?? '')).toBe(true);
    await expect.poll(made).toEqual(['good1', 'bad1', 'bad2']);
  });

  test('lets a failed one wait outside of the broker, at first a quarter of a second at most [S1.7]', async ({
    mongodb,
  }) => {
    const { broker, inbox, rows, service } = stage(mongodb, () => {
      throw new Error('no');
    });
    const failed: Extract<RelayEvent, { kind: 'run-failed' }>[] = [];
    const observe = (event: RelayEvent): void => void (event.kind === 'run-failed' && failed.push(event));
    const running = await inbox.start({ transport: transportOf(broker), pollMs: 20, observers: [observe] });
    onTestFinished(() => running.stop());
    await publish(broker, message('bad', 1));
    await expect.poll(() => rows.findOne({ service })).toMatchObject({ state: 'waiting' });
    await expect.poll(() => failed[0]?.next).toEqual({ kind: 'retry', delayMs: expect.any(Number) });
    const { next } = failed[0] ?? {};
    expect(next?.kind === 'retry' && next.delayMs).toBeLessThanOrEqual(250);
  });

  test('keeps what cannot be read as a dead one, with every byte [S1.7]', async ({ mongodb }) => {
    const { broker, start, inbox } = stage(mongodb);
    await start();
    await publish(broker, { ...message('a', 1), body: Buffer.from('{"no') });
    await expect.poll(() => inbox.dead.list()).toMatchObject([{ error: { code: 'MESSAGE_UNREADABLE' } }]);
    const [dead] = await inbox.dead.list();
    expect(dead?.payload).toMatchObject({ body: Buffer.from('{"no').toString('base64') });
  });

  test('handles one key in order while another is slow [S1.9]', async ({ mongodb }) => {
    const slow = Promise.withResolvers<void>();
    const { broker, start, made } = stage(mongodb, ({ orderId }) => (orderId === 'slow' ? slow.promise : undefined));
    await start();
    const quick = Array.from({ length: 20 }, (_, n) => message('quick', n));
    await publish(broker, message('slow', 1), message('slow', 2), ...quick);
    await expect.poll(made).toEqual(quick.map((_, n) => `quick${n}`));
    slow.resolve();
    await expect.poll(made).toEqual([...quick.map((_, n) => `quick${n}`), 'slow1', 'slow2']);
  });

  test('gives up an attempt whose time is up, and keeps nothing of it [S1.6]', async ({ mongodb }) => {
    let isHanging = true;
    const hang = (): Promise<void> | undefined => (isHanging ? new Promise(() => undefined) : undefined);
    const { broker, start, made, rows, service, hurry } = stage(mongodb, hang, { timeoutMs: 50 });
    await start();
    await publish(broker, message('a', 1));
    await expect
      .poll(() => rows.findOne({ service, state: 'waiting' }))
      .toMatchObject({ error: { code: 'ATTEMPT_TIMEOUT' } });
    expect(await made()).toEqual([]);
    isHanging = false;
    await expect.poll(async () => [await hurry(), await made()]).toEqual([[], ['a1']]);
  });

  test('of two inboxes of a service that handle the same message at once, one keeps its effect [S1.6]', async ({
    mongodb,
  }) => {
    const both = Promise.withResolvers<void>();
    let calls = 0;
    const { db, broker, open, start, made, service } = stage(mongodb, async () => {
      if ((calls += 1) === 2) both.resolve();
      await both.promise;
    });
    await start();
    await publish(broker, message('a', 1));
    await expect.poll(() => calls).toBe(1);
    // The first is taken for dead and is not: its lease is gone before it knows.
    await db
      .collection('holdfast_leases')
      .updateOne({ _id: `inbox_messages:${service}` as never }, [{ $set: { until: '$$NOW' } }]);
    await start(open());
    await expect.poll(made).toEqual(['a1']);
    await publish(broker, message('a', 2));
    await expect.poll(made).toEqual(['a1', 'a2']);
  });

  test('takes what an outbox has sent, over a broker [S1.5]', async ({ mongodb }) => {
    const { db, broker, start, made } = stage(mongodb);
    const outbox = mongoOutbox({ db, service: 'sender' });
    await start();
    const relay = await outbox.start({ transport: transportOf(broker) });
    onTestFinished(() => relay.stop());
    await outbox.transaction((session) => outbox.send(session, orderPlaced, { orderId: 'a', n: 1 }));
    await expect.poll(made).toEqual(['a1']);
  });
});

describe('an inbox on its own server', () => {
  needs('mongod')('loses nothing and makes no effect twice when the server is killed [S1.6]', async ({ mongod }) => {
    const server = await privateMongodb(mongod.url);
    const { broker, start, made } = stage({ url: server.url, namespace: 'killed' });
    await start(undefined, 1_000);
    const all = Array.from({ length: 60 }, (_, n) => message(`k${n % 10}-`, n));
    await publish(broker, ...all);
    await expect.poll(async () => (await made()).length).toBeGreaterThan(0);
    await server.kill();
    await server.start();
    await publish(broker, ...all);
    await expect.poll(async () => (await made()).toSorted()).toEqual(all.map((_, n) => `k${n % 10}-${n}`).toSorted());
  });
});
