import { MongoClient } from 'mongodb';
import { connect, createServer, type AddressInfo, type Server } from 'node:net';
import { once } from 'node:events';
import { Transform } from 'node:stream';
import { expect, onTestFinished } from 'vitest';
import { mongoOutbox } from '../../src/mongodb/index.ts';
import { Rows } from '../../src/mongodb/rows.ts';
import type { OutboxRow } from '../../src/mongodb/row.ts';
import { systemEffects } from '../../src/system/effects.ts';
import { localBroker } from '../../src/testing/index.ts';
import { transportOf } from '../../src/transport/index.ts';
import { amount } from '../support/amount.ts';
import { needs } from '../support/needs.ts';
import { byKey, openDb, orderPlaced } from './outbox-stage.ts';

const test = needs('mongodb');
const SIZE = 900_000;
const text = 'x'.repeat(SIZE);

/** A way to a server through which answers come slowly: so many bytes in a millisecond. */
async function slowWay(url: string, bytesPerMs: number): Promise<string> {
  const { hostname, port } = new URL(url);
  const server: Server = createServer((from) => {
    const to = connect(Number(port), hostname);
    const slow = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        systemEffects.setTimer(() => done(null, chunk), chunk.length / bytesPerMs);
      },
    });
    from.pipe(to).pipe(slow).pipe(from);
    for (const socket of [from, to]) socket.on('error', () => [from, to].forEach((one) => one.destroy()));
    from.on('close', () => to.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const slow = new URL(url);
  slow.port = String((server.address() as AddressInfo).port);
  return String(slow);
}

test('a backlog of large messages in MongoDB is published, all of it and in order [S1.4] [S1.5]', async ({
  mongodb,
}) => {
  const count = amount(30, 510);
  const { db, service } = openDb(mongodb);
  const outbox = mongoOutbox({ db, service });
  const broker = localBroker();
  for (let n = 0; n < count; n++)
    await outbox.transaction((session) => outbox.send(session, orderPlaced, { orderId: 'k', n, text } as never));
  const running = await outbox.start({ transport: transportOf(broker) });
  onTestFinished(() => running.stop());
  await expect
    .poll(() => byKey(broker.published('order'))['k'], { timeout: 60_000 })
    .toEqual(Array.from({ length: count }, (_, n) => n));
});

test('messages that are too much for a slow link to MongoDB are read in halves until they fit its time [S1.4] [S1.5]', async ({
  mongodb,
}) => {
  const { db, service } = openDb(mongodb);
  const outbox = mongoOutbox({ db, service });
  for (let n = 0; n < 10; n++)
    await outbox.transaction((session) => outbox.send(session, orderPlaced, { orderId: `k${n}`, n, text } as never));
  const client = new MongoClient(await slowWay(mongodb.url, 6_000), { directConnection: true });
  onTestFinished(() => client.close());
  // The time for an answer is 750 ms, in which a half of the ten does not come.
  const setTimer: typeof systemEffects.setTimer = (fire, ms) => systemEffects.setTimer(fire, ms / 20);
  const rows = new Rows<OutboxRow>({
    db: client.db(db.databaseName),
    collection: 'outbox_events',
    service,
    effects: { ...systemEffects, setTimer },
    doneAt: [],
    keepMs: 60_000,
  });
  const found: string[] = [];
  const readSome = async (): Promise<number> => {
    const read = await rows.read(500).catch(() => undefined);
    const ids = read?.rows.map(({ _id }) => _id) ?? [];
    found.push(...ids);
    if (ids.length > 0)
      await db.collection('outbox_events').updateMany({ _id: { $in: ids as never[] } }, { $set: { state: 'done' } });
    return found.length;
  };
  await expect.poll(readSome, { timeout: 60_000 }).toBe(10);
  expect(new Set(found).size).toBe(10);
});
