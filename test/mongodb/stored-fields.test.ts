import { MongoClient } from 'mongodb';
import { describe, expect, onTestFinished } from 'vitest';
import { idempotency } from '../../src/idempotency/index.ts';
import { mongoIdempotency, mongoInbox, mongoOutbox } from '../../src/mongodb/index.ts';
import { localBroker } from '../../src/testing/index.ts';
import { transportOf } from '../../src/transport/index.ts';
import { newClaim, rivalOf } from '../idempotency-stores/new-claim.ts';
import { needs, type TestServer } from '../support/needs.ts';
import { realTracing } from '../support/spans.ts';
import { openDb, orderPlaced } from './outbox-stage.ts';

const test = needs('mongodb');

const inSpan = realTracing();
const aDate = expect.any(Date) as unknown;

/** What any program that speaks MongoDB sees. */
function bareDriver({ url, namespace }: TestServer) {
  const client = new MongoClient(url);
  onTestFinished(() => client.close());
  return client.db(namespace);
}

describe('a collection read with the bare driver', () => {
  test('has an event as the plan writes it: in outbox_events [S1.4]', async ({ mongodb }) => {
    const { db, service } = openDb(mongodb);
    const outbox = mongoOutbox({ db, service });
    const order = { orderId: 'ord_123', n: 7 };
    let id = '';
    const span = await inSpan(async () => {
      ({ id } = await outbox.transaction((session) => outbox.send(session, orderPlaced, order)));
    });
    const { traceId, spanId } = span.spanContext();
    const events = bareDriver(mongodb).collection('outbox_events');
    const found = () => events.findOne({ service, 'payload.orderId': 'ord_123' });
    const event = {
      _id: id,
      aggType: 'order',
      aggId: 'ord_123',
      eventType: 'order.placed',
      payload: order,
      createdAt: aDate,
      traceparent: `00-${traceId}-${spanId}-01`,
      tracestate: '',
    };
    expect(await found()).toMatchObject({ ...event, publishedAt: null });
    const broker = localBroker();
    const running = await outbox.start({ transport: transportOf(broker) });
    onTestFinished(() => running.stop());
    await expect.poll(found).toMatchObject({ ...event, publishedAt: aDate });
    expect(broker.published('order').map(({ body }) => String(Buffer.from(body)))).toEqual([JSON.stringify(order)]);
  });

  test('says of a discarded event that it was never published [S1.4] [S1.8]', async ({ mongodb }) => {
    const { db, service } = openDb(mongodb);
    const outbox = mongoOutbox({ db, service });
    const sent = await outbox.transaction((session) => outbox.send(session, orderPlaced, { orderId: 'gone', n: 1 }));
    const events = bareDriver(mongodb).collection('outbox_events');
    await events.updateOne({ service }, { $set: { state: 'dead', deadAt: new Date() } });
    expect(await outbox.dead.discard(sent.id)).toBe(true);
    expect(await events.findOne({ service })).toMatchObject({ state: 'discarded', publishedAt: null, endedAt: aDate });
  });

  test('says when a message was processed first and last: in inbox_messages [S1.6]', async ({ mongodb }) => {
    const { db, service } = openDb(mongodb);
    const inbox = mongoInbox({ db, service });
    let canHandle = false;
    inbox.on(orderPlaced, () => {
      if (!canHandle) throw new Error('not yet');
    });
    const broker = localBroker();
    const running = await inbox.start({ transport: transportOf(broker), pollMs: 20 });
    onTestFinished(() => running.stop());
    const attributes = { specversion: '1.0', id: 'm1', source: 'shop', type: 'order.placed' };
    const body = Buffer.from('{"orderId":"ord_1","n":1}');
    const publish = () =>
      broker.publish([{ type: 'order.placed', key: 'ord_1', isDead: false, attributes, headers: {}, body }]);
    await publish();
    const messages = bareDriver(mongodb).collection('inbox_messages');
    const found = () => messages.findOne({ service });
    await expect.poll(found).toMatchObject({
      _id: expect.stringMatching(new RegExp(`^${service} [0-9a-f-]{36}$`)) as unknown,
      sourceId: 'local:order@0',
      eventType: 'order.placed',
      payload: { orderId: 'ord_1', n: 1 },
      createdAt: aDate,
      state: 'waiting',
      firstProcessedAt: null,
      lastProcessedAt: null,
    });
    canHandle = true;
    await expect.poll(found).toMatchObject({ state: 'done', firstProcessedAt: aDate });
    const first = await found();
    expect(first?.['lastProcessedAt']).toEqual(first?.['firstProcessedAt']);
    await publish();
    await expect
      .poll(async () => (await found())?.['lastProcessedAt'] as unknown)
      .not.toEqual(first?.['lastProcessedAt']);
    expect(await found()).toMatchObject({ firstProcessedAt: first?.['firstProcessedAt'] as unknown });
  });

  test('has a request and its reply as the plan writes them: in idempotency_keys [S1.2] [S1.3]', async ({
    mongodb,
  }) => {
    const { db } = openDb(mongodb);
    const store = mongoIdempotency({ db });
    const claim = newClaim();
    await store.claim(claim);
    const keys = bareDriver(mongodb).collection<{ _id: string }>('idempotency_keys');
    const found = (id: string) => keys.findOne({ _id: id });
    const open = { _id: claim.id, requestHash: claim.fingerprint, createdAt: aDate, ttlAt: aDate };
    expect(await found(claim.id)).toMatchObject({ ...open, response: null, statusCode: null });
    const head = '{"status":201,"headers":[["content-type","application/json"]]}';
    const body = new TextEncoder().encode('{"orderId":"ord_1","total":5}');
    await store.end(claim, { kind: 'finish', status: 'completed', reply: { head, body } });
    const response = { orderId: 'ord_1', total: 5 };
    expect(await found(claim.id)).toMatchObject({ ...open, response, statusCode: 201 });
    expect(await keys.countDocuments({ _id: claim.id, 'response.orderId': 'ord_1' })).toBe(1);
    // What is answered again is the same, byte by byte.
    expect(await store.claim(rivalOf(claim))).toMatchObject({ kind: 'finished', reply: { head, body } });
    const ttl = (await keys.indexes()).filter(({ expireAfterSeconds }) => expireAfterSeconds !== undefined);
    expect(ttl).toMatchObject([{ key: { ttlAt: 1 }, expireAfterSeconds: 0 }]);
  });

  test('has a reply that is no JSON as text or bytes, and the value of once as it is [S1.3]', async ({ mongodb }) => {
    const { db, service } = openDb(mongodb);
    const store = mongoIdempotency({ db });
    const keys = bareDriver(mongodb).collection<{ _id: string }>('idempotency_keys');
    const bodies = [new TextEncoder().encode('\u{feff}fine'), Uint8Array.of(0x80, 0xff), new Uint8Array(), undefined];
    const kept: unknown[] = [];
    for (const body of bodies) {
      const claim = newClaim();
      await store.claim(claim);
      const reply = { head: '{"code":0,"details":""}', body };
      await store.end(claim, { kind: 'finish', status: 'completed', reply });
      const { response, statusCode } = (await keys.findOne({ _id: claim.id })) as {
        response?: unknown;
        statusCode?: unknown;
      };
      kept.push([typeof response === 'object' && response !== null ? 'bytes' : response, statusCode]);
      expect(await store.claim(rivalOf(claim))).toMatchObject({ reply });
    }
    expect(kept).toEqual([
      ['\u{feff}fine', 0],
      ['bytes', 0],
      ['', 0],
      [null, 0],
    ]);

    const idem = idempotency({ service, store });
    for (const value of [{ expenseId: 'exp_1' }, 7, 'seven', null]) {
      const domain = `charge ${JSON.stringify(value)}`;
      const charge = () => idem.once('k', async () => value, { domain });
      expect([await charge(), await charge()]).toEqual([value, value]);
      const response: unknown = typeof value === 'object' && value !== null ? value : JSON.stringify(value);
      expect(await keys.findOne({ domain })).toMatchObject({ response, statusCode: null });
    }
  });
});
