import type { ClientSession } from 'mongodb';
import { describe, expect, onTestFinished } from 'vitest';
import { outgoing, type RelayEvent } from '../../src/index.ts';
import { mongoOutbox, type MongoOutbox, type MongoStartOptions } from '../../src/mongodb/index.ts';
import { localBroker } from '../../src/testing/index.ts';
import { type Broker, transportOf } from '../../src/transport/index.ts';
import { needs, type TestServer } from '../support/needs.ts';
import { byKey, noted, openDb, orderPlaced } from './outbox-stage.ts';
import { privateMongodb } from './private-mongodb.ts';

const test = needs('mongodb');

function stage(server: TestServer) {
  const { db, service } = openDb(server);
  const outbox = mongoOutbox({ db, service });
  const broker = localBroker();
  const start = async (options: Partial<MongoStartOptions> = {}) => {
    const running = await outbox.start({
      transport: transportOf(broker),
      ...options,
    });
    onTestFinished(() => running.stop());
    return running;
  };
  const rows = db.collection('outbox_events');
  return { db, service, outbox, broker, start, rows };
}

const send = (outbox: MongoOutbox<ClientSession>, orderId: string, n: number) =>
  outbox.transaction((session) => outbox.send(session, orderPlaced, { orderId, n }));

describe('an outbox in MongoDB', () => {
  test('keeps a message with the transaction it was sent in, or not at all [S1.4]', async ({ mongodb }) => {
    const { db, outbox, broker, start, service } = stage(mongodb);
    const orders = db.collection<{ _id: string }>('orders');
    await start();
    await outbox.transaction(async (session) => {
      await orders.insertOne({ _id: 'kept' }, { session });
      await outbox.send(
        session,
        orderPlaced,
        { orderId: 'kept', n: 1 },
        { tracestate: 'a=1', headers: { 'x.y': '$z' } },
      );
    });
    const lost = outbox.transaction(async (session) => {
      await outbox.send(session, orderPlaced, { orderId: 'lost', n: 1 });
      throw new Error('no');
    });
    await expect(lost).rejects.toThrow('no');
    await send(outbox, 'last', 1);
    await expect.poll(() => byKey(broker.published('order'))).toEqual({ kept: [1], last: [1] });
    expect(broker.published('order')[0]).toMatchObject({
      attributes: { source: service, type: 'order.placed', aggregatetype: 'order', aggregateid: 'kept' },
      headers: { tracestate: 'a=1', 'x.y': '$z' },
    });
  });

  test('writes what the requirement names, and the time of publishing [S1.4]', async ({ mongodb }) => {
    const { outbox, start, rows, service } = stage(mongodb);
    await send(outbox, 'o1', 1);
    const open = await rows.findOne({ service });
    expect(open).toMatchObject({
      aggType: 'order',
      aggId: 'o1',
      eventType: 'order.placed',
      key: 'o1',
      publishedAt: null,
    });
    expect(open).toMatchObject({ payload: { orderId: 'o1', n: 1 }, traceparent: null, tracestate: '' });
    await start();
    await expect.poll(() => rows.countDocuments({ service, publishedAt: { $type: 'date' } })).toBe(1);
  });

  test('refuses a session without a transaction, and stores nothing [S1.4]', async ({ mongodb }) => {
    const { db, outbox, rows, service } = stage(mongodb);
    const session = db.client.startSession();
    onTestFinished(() => session.endSession());
    for (const wrong of [session, undefined as never]) {
      const sent = outbox.send(wrong, noted, { n: 1 });
      await expect(sent).rejects.toMatchObject({ code: 'MONGODB_SESSION_IDLE' });
    }
    expect(await rows.countDocuments({ service })).toBe(0);
  });

  test('publishes a message that is committed after later ones were published [S1.5]', async ({ mongodb }) => {
    const { outbox, broker, start } = stage(mongodb);
    await start();
    await outbox.transaction(async (session) => {
      await outbox.send(session, orderPlaced, { orderId: 'slow', n: 1 });
      await send(outbox, 'quick', 1);
      await expect.poll(() => byKey(broker.published('order'))).toEqual({ quick: [1] });
    });
    await expect.poll(() => byKey(broker.published('order'))).toEqual({ quick: [1], slow: [1] });
  });

  test('whose collection is dropped goes on: what is sent then is published without waiting for the next look, and the indexes are there again [S1.4] [S1.5]', async ({
    mongodb,
  }) => {
    const { db, outbox, broker, start } = stage(mongodb);
    const seen: RelayEvent[] = [];
    await start({ pollMs: 60_000, observers: [(event) => void seen.push(event)] });
    // What is sent before it listens is found when it looks, in a minute.
    let sent = 0;
    const sendNext = async (orderId: string): Promise<number> => {
      await send(outbox, orderId, (sent += 1));
      return byKey(broker.published('order'))[orderId]?.length ?? 0;
    };
    await expect.poll(() => sendNext('before'), { timeout: 20_000 }).toBeGreaterThan(2);
    await db.dropCollection('outbox_events');
    await expect.poll(() => sendNext('after'), { timeout: 20_000 }).toBeGreaterThan(2);
    const names = async (): Promise<readonly string[]> =>
      (await db.collection('outbox_events').indexes()).map(({ name }) => name ?? '').sort();
    await expect
      .poll(names, { timeout: 20_000 })
      .toEqual(['_id_', 'holdfast_ended', 'holdfast_idempotency', 'holdfast_key', 'holdfast_line']);
    const faults = seen.flatMap((one) => (one.kind === 'store-failed' ? [String(one.error)] : []));
    expect(faults.join()).toContain('was dropped');
  });

  test('lets senders of one key commit one after the other, and publishes in that order [S1.9]', async ({
    mongodb,
  }) => {
    const { db, outbox, broker, start } = stage(mongodb);
    await start();
    const counters = db.collection<{ _id: string; n: number }>('counters');
    await counters.insertMany([
      { _id: 'a', n: 0 },
      { _id: 'b', n: 0 },
    ]);
    const sendNext = (orderId: string) =>
      outbox.transaction(async (session) => {
        const next = await counters.findOneAndUpdate(
          { _id: orderId },
          { $inc: { n: 1 } },
          { session, returnDocument: 'after' },
        );
        await outbox.send(session, orderPlaced, { orderId, n: next?.n ?? 0 });
      });
    await Promise.all(['a', 'b'].flatMap((key) => Array.from({ length: 15 }, () => sendNext(key))));
    const numbers = Array.from({ length: 15 }, (_, i) => i + 1);
    await expect.poll(() => byKey(broker.published('order'))).toEqual({ a: numbers, b: numbers });
    const sequences = broker.published('order').map(({ attributes }) => attributes['sequence'] ?? '');
    expect(sequences).toEqual(sequences.toSorted());
  });

  test('takes another time for keeping what is published, once it is told [S1.4]', async ({ mongodb }) => {
    const { db, service } = openDb(mongodb);
    const at = { db, service, collection: 'kept_events' };
    await mongoOutbox(at).prepare();
    await mongoOutbox({ ...at, keepMs: 60_000 }).prepare();
    const indexes = await db.collection('kept_events').indexes();
    expect(indexes.find(({ name }) => name === 'holdfast_ended')).toMatchObject({ expireAfterSeconds: 60 });
  });

  test('of one key with overlapping senders, the second is told to come again [S1.9]', async ({ mongodb }) => {
    const { db, outbox } = stage(mongodb);
    await outbox.prepare();
    const [first, second] = [db.client.startSession(), db.client.startSession()];
    onTestFinished(async () => void (await Promise.all([first.endSession(), second.endSession()])));
    for (const session of [first, second]) session.startTransaction();
    await outbox.send(first, orderPlaced, { orderId: 'same', n: 1 });
    const sent = outbox.send(second, orderPlaced, { orderId: 'same', n: 2 });
    await expect(sent).rejects.toMatchObject({ errorLabelSet: new Set(['TransientTransactionError']) });
    await first.commitTransaction();
  });

  test('stores a message with the same idempotency key once [S1.4]', async ({ mongodb }) => {
    const { outbox } = stage(mongodb);
    const twice = () =>
      outbox.transaction((session) =>
        outbox.sendAll(session, [
          outgoing(noted, { n: 1 }, { idempotencyKey: 'k' }),
          outgoing(noted, { n: 2 }, { idempotencyKey: 'k' }),
        ]),
      );
    const [first, second] = await twice();
    expect([first?.kind, second?.kind]).toEqual(['stored', 'duplicate']);
    expect(await twice()).toEqual([
      { kind: 'duplicate', id: first?.id },
      { kind: 'duplicate', id: first?.id },
    ]);
  });
});

describe('the relay of an outbox in MongoDB', () => {
  test('drains what was sent before it started, in more than one batch [S1.5]', async ({ mongodb }) => {
    const { outbox, broker, start } = stage(mongodb);
    const numbers = Array.from({ length: 1_200 }, (_, n) => n);
    await outbox.transaction((session) =>
      outbox.sendAll(
        session,
        numbers.map((n) => outgoing(orderPlaced, { orderId: `o${n % 7}`, n })),
      ),
    );
    await start();
    await expect.poll(() => broker.published('order').length).toBe(1_200);
    const keys = Object.values(byKey(broker.published('order')));
    expect(keys.flatMap((found) => found.toSorted((a, b) => a - b))).toEqual(keys.flat());
  });

  test('waits while the broker is away and counts no attempt [S1.5]', async ({ mongodb }) => {
    const { outbox, broker, start, rows, service } = stage(mongodb);
    broker.isAway = true;
    const running = await start();
    await send(outbox, 'o1', 1);
    await running.stop();
    await running.stop();
    expect(await rows.findOne({ service })).toMatchObject({ state: 'open', attempts: 0 });
    broker.isAway = false;
    await start();
    await expect.poll(() => byKey(broker.published('order'))).toEqual({ o1: [1] });
  });

  test('sets aside what the broker refuses, with the reason; its key waits until it is replayed or discarded [S1.7]', async ({
    mongodb,
  }) => {
    const { db, service, outbox, rows } = stage(mongodb);
    const small = localBroker({ maxBytes: 100 });
    const running = await outbox.start({ transport: transportOf(small), pollMs: 5 });
    onTestFinished(() => running.stop());
    const large = 'x'.repeat(200);
    await outbox.transaction(async (session) => {
      await outbox.send(session, orderPlaced, { orderId: 'bad', n: 1, large } as never);
      await outbox.send(session, orderPlaced, { orderId: 'bad', n: 2 });
      await outbox.send(session, orderPlaced, { orderId: 'good', n: 1 });
    });
    await expect.poll(() => byKey(small.published('order'))).toEqual({ good: [1] });
    await expect.poll(() => rows.countDocuments({ service, state: 'waiting', attempts: { $gt: 0 } })).toBe(1);
    // Its waits are made short: seven of them take half a minute.
    const hurry = async () => {
      await db.collection('outbox_events').updateMany({ service, state: 'waiting' }, [{ $set: { dueAt: '$$NOW' } }]);
      return outbox.dead.list();
    };
    await expect
      .poll(hurry)
      .toMatchObject([{ key: 'bad', attempts: 7, reason: 'attempts', error: { name: 'RangeError' } }]);
    const [dead] = await outbox.dead.list();
    expect(await outbox.dead.replay(dead?.id ?? '')).toBe(true);
    expect(await outbox.dead.replay(dead?.id ?? '')).toBe(false);
    await expect.poll(hurry).toMatchObject([{ key: 'bad', attempts: 7, replays: 1 }]);
    expect(byKey(small.published('order'))).toEqual({ good: [1] });
    expect(await outbox.dead.discard(dead?.id ?? '')).toBe(true);
    await expect.poll(() => byKey(small.published('order'))).toEqual({ good: [1], bad: [2] });
  });

  test('is one at a time for a service; another goes on when it stops or its lease runs out [S1.5]', async ({
    mongodb,
  }) => {
    const { db, outbox, broker, start, service } = stage(mongodb);
    const first = await start({ leaseMs: 600 });
    await send(outbox, 'a', 1);
    await expect.poll(() => byKey(broker.published('order'))).toEqual({ a: [1] });
    await start({ leaseMs: 600 });
    await first.stop();
    await send(outbox, 'b', 1);
    await expect.poll(() => byKey(broker.published('order'))).toEqual({ a: [1], b: [1] });
    // Somebody else has it, and is never heard of again.
    const leases = db.collection<{ _id: string; epoch: number }>('holdfast_leases');
    const id = `outbox_events:${service}`;
    const before = await leases.findOne({ _id: id });
    await leases.updateOne({ _id: id }, [{ $set: { owner: 'nobody', epoch: { $add: ['$epoch', 1] } } }]);
    await expect.poll(async () => (await leases.findOne({ _id: id }))?.epoch).toBe((before?.epoch ?? 0) + 2);
    await send(outbox, 'c', 1);
    await expect.poll(() => byKey(broker.published('order'))).toEqual({ a: [1], b: [1], c: [1] });
  });
});

describe('a relay that was taken for dead and was not', () => {
  test('writes no failure any more [S1.5]', async ({ mongodb }) => {
    const { db, service, outbox, rows } = stage(mongodb);
    const asked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<void>();
    const broker: Broker = {
      ...localBroker(),
      publish: async (messages) => {
        asked.resolve();
        await answer.promise;
        return messages.map(() => ({ kind: 'failed', error: new Error('refused') }));
      },
    };
    const running = await outbox.start({ transport: transportOf(broker) });
    await send(outbox, 'a', 1);
    await asked.promise;
    const leases = db.collection<{ _id: string }>('holdfast_leases');
    await leases.updateOne({ _id: `outbox_events:${service}` }, { $set: { owner: 'another' }, $inc: { epoch: 1 } });
    answer.resolve();
    await running.stop();
    expect(await rows.findOne({ service })).toMatchObject({ state: 'open', attempts: 0 });
  });
});

describe('an outbox on its own server', () => {
  needs('mongod')('loses nothing when the server is killed and when it hangs [S1.5]', async ({ mongod }) => {
    const server = await privateMongodb(mongod.url);
    const { outbox, broker } = stage({ url: server.url, namespace: 'killed' });
    const told: string[] = [];
    const observers = [({ kind }: RelayEvent) => void told.push(kind)];
    const running = await outbox.start({ transport: transportOf(broker), leaseMs: 1_000, observers });
    onTestFinished(() => running.stop());
    const sends = Array.from({ length: 30 }, (_, n) => send(outbox, `k${n % 3}-${n}`, n));
    await Promise.any(sends);
    await server.kill();
    await server.start();
    await Promise.all(sends);
    await expect.poll(() => broker.published('order').length).toBeGreaterThanOrEqual(30);
    told.length = 0;
    // It hangs for longer than the lease: the relay stops to believe in it, and takes it again.
    server.hang();
    await expect.poll(() => told).toContain('units-lost');
    const during = send(outbox, 'during', 1);
    server.goOn();
    await during;
    const keys = [...Array.from({ length: 30 }, (_, n) => `k${n % 3}-${n}`), 'during'].toSorted();
    await expect.poll(() => Object.keys(byKey(broker.published('order'))).toSorted()).toEqual(keys);
  });
});
