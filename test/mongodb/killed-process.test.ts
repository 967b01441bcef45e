import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { expect, onTestFinished } from 'vitest';
import { mongoInbox } from '../../src/mongodb/index.ts';
import { redisStreams } from '../../src/redis/index.ts';
import { needs } from '../support/needs.ts';
import { openDb, orderPlaced } from './outbox-stage.ts';
import { privateMongodb } from './private-mongodb.ts';

const PROGRAM = fileURLToPath(new URL('order-process.ts', import.meta.url));

/** A process that writes `count` orders from `first` on and publishes. Resolves when it has said that `killAfter` are written. */
async function orderProcess(
  args: readonly string[],
  { first, count, killAfter }: { first: number; count: number; killAfter?: number },
): Promise<readonly number[]> {
  const child = spawn(process.execPath, [PROGRAM, ...args, String(first), String(count)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  const said: number[] = [];
  for await (const line of createInterface(child.stdout)) {
    said.push(Number(line));
    if (said.length === killAfter) child.kill('SIGKILL');
    if (said.length === count) break;
  }
  return said;
}

// A server of its own: the transaction of a killed process stays open on it for a minute, and nothing can be dropped while it is.
needs('mongod', 'redis')(
  'orders of a process that is killed while it writes and publishes have each one effect elsewhere, in order [S1.4] [S1.5] [S1.6]',
  async ({ mongod, redis }) => {
    const { url } = await privateMongodb(mongod.url);
    const { db } = openDb({ url, namespace: 'killed' });
    const prefix = `${redis.namespace}:`;
    const client = new Redis(redis.url);
    onTestFinished(() => client.disconnect());
    const effects = db.collection<{ orderId: string; n: number }>('killed_effects');
    const inbox = mongoInbox({ db, service: 'stock' });
    inbox.on(orderPlaced, async (order, session) => void (await effects.insertOne({ ...order }, { session })));
    const running = await inbox.start({ transport: redisStreams({ client, prefix }), pollMs: 50 });
    onTestFinished(() => running.stop());

    // Both write; one of them publishes, and when that is the one that is killed, the other takes over.
    const args = [url, 'killed', redis.url, prefix];
    const killed = orderProcess(args, { first: 0, count: 1_000, killAfter: 30 });
    const other = orderProcess(args, { first: 1_000, count: 20 });
    const said = [...(await killed), ...(await other)];

    const orders = await db.collection<{ _id: number }>('orders').find().sort({ _id: 1 }).toArray();
    const written = orders.map(({ _id: n }) => n);
    expect(written).toEqual(expect.arrayContaining(said));
    await expect.poll(() => effects.countDocuments()).toBeGreaterThanOrEqual(written.length);
    const made = (await effects.find().sort({ _id: 1 }).toArray()).map(({ n }) => n);
    expect(made.toSorted((a, b) => a - b)).toEqual(written);
    for (let line = 0; line < 10; line++) {
      const ofLine = made.filter((n) => (n % 5) + (n < 1_000 ? 0 : 5) === line);
      expect(ofLine).toEqual(ofLine.toSorted((a, b) => a - b));
    }
  },
);
