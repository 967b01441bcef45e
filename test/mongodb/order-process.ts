// node order-process.ts <MongoDB URL> <database> <Redis URL> <prefix> <first number> <count>
//
// Writes orders together with their events, and publishes those, until it is killed.
import { Redis } from 'ioredis';
import { MongoClient } from 'mongodb';
import { mongoOutbox } from '../../src/mongodb/index.ts';
import { event } from '../../src/outbox/event.ts';
import { redisStreams } from '../../src/redis/index.ts';

const [mongoUrl = '', database, redisUrl = '', prefix = '', first, count] = process.argv.slice(2);
const db = new MongoClient(mongoUrl).db(database);
const placed = event<{ orderId: string; n: number }>('order.placed', { key: (order) => order.orderId });
const outbox = mongoOutbox({ db, service: 'shop' });
const orders = db.collection<{ _id: number }>('orders');
await outbox.start({ transport: redisStreams({ client: new Redis(redisUrl), prefix }), leaseMs: 1_000, pollMs: 50 });
// Keys of its own: those of a killed process wait until the server has given up its transaction.
for (let n = Number(first); n < Number(first) + Number(count); n++) {
  await outbox.transaction(async (session) => {
    await orders.insertOne({ _id: n }, { session });
    await outbox.send(session, placed, { orderId: `k${n % 5} of ${first}`, n });
  });
  process.stdout.write(`${n}\n`);
}
