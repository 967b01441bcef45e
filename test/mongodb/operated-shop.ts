import { MongoClient, type Db } from 'mongodb';
import { expect, onTestFinished } from 'vitest';
import { event, TerminalHandlerError } from '../../src/index.ts';
import { mongoInbox, mongoOperator, mongoOutbox } from '../../src/mongodb/index.ts';
import type { Operator } from '../../src/operator/index.ts';
import { localBroker } from '../../src/testing/index.ts';
import { transportOf } from '../../src/transport/index.ts';
import type { TestServer } from '../support/needs.ts';

interface Order {
  readonly orderId: string;
  readonly total: number;
}

const orderPlaced = event<Order>('order.placed', { key: (order) => order.orderId });

let shops = 0;

/** A database of its own on the server of a file: gone when the test ends. */
export function ownDatabase({ url, namespace }: TestServer): { readonly db: Db; readonly url: string } {
  const client = new MongoClient(url);
  const db = client.db(`${namespace}_${(shops += 1)}`);
  onTestFinished(async () => {
    await db.dropDatabase();
    await client.close();
  });
  const own = new URL(url);
  own.pathname = `/${db.databaseName}`;
  return { db, url: own.href };
}

/**
 * A shop that sends orders and a stock that takes them, both in one database; every order of a customer called `bad…` fails for good,
 * until that is mended. Nothing runs until `start`.
 */
export function operatedShop(server: TestServer) {
  const { db, url } = ownDatabase(server);
  const broker = localBroker();
  const state = { isMended: false };
  const done: string[] = [];
  const outbox = mongoOutbox({ db, service: 'shop' });
  const inbox = mongoInbox({ db, service: 'stock' });
  inbox.on(orderPlaced, async ({ orderId, total }) => {
    if (orderId.startsWith('bad') && !state.isMended)
      throw Object.assign(new TerminalHandlerError(`no stock for ${orderId}`), { code: 'NO_STOCK' });
    done.push(`${orderId}:${total}`);
  });
  const send = (...orders: readonly (readonly [orderId: string, total: number])[]): Promise<readonly string[]> =>
    outbox.transaction(async (session) => {
      const ids: string[] = [];
      for (const [orderId, total] of orders) {
        const sent = await outbox.send(session, orderPlaced, { orderId, total });
        ids.push(sent.id);
      }
      return ids;
    });
  const start = async () => {
    const transport = transportOf(broker);
    const running = [
      await outbox.start({ transport, pollMs: 20 }),
      await inbox.start({ transport: transportOf(broker), pollMs: 20 }),
    ];
    const stop = async (): Promise<void> => void (await Promise.all(running.map((one) => one.stop())));
    onTestFinished(stop);
    return { stop };
  };
  const operator: Operator = mongoOperator({ db });
  /** Waits until as many are dead. */
  const dead = async (count: number) => {
    await expect.poll(async () => (await operator.deadLetters()).items.length).toBe(count);
    return (await operator.deadLetters()).items;
  };
  return { db, url, broker, state, done, outbox, inbox, send, start, operator, dead };
}

/** Who does it in tests. */
export const BY = { actor: 'ann', reason: 'stock is there again' };
