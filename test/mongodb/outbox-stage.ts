import { MongoClient, type Db } from 'mongodb';
import { onTestFinished } from 'vitest';
import { event } from '../../src/index.ts';
import type { OutboundMessage } from '../../src/transport/index.ts';
import type { TestServer } from '../support/needs.ts';

export const orderPlaced = event<{ orderId: string; n: number }>('order.placed', {
  key: (order) => order.orderId,
  aggregate: (order) => ({ type: 'order', id: order.orderId }),
});

export const noted = event<{ n: number }>('note.taken');

let names = 0;

/** A database of one test on the server of its file, with a service of its own. */
export function openDb({ url, namespace }: TestServer): { readonly db: Db; readonly service: string } {
  const client = new MongoClient(url);
  onTestFinished(() => client.close());
  return { db: client.db(namespace), service: `orders${(names += 1)}` };
}

/** The `n` of what was published, by key. */
export function byKey(published: readonly OutboundMessage[]): Record<string, number[]> {
  const found: Record<string, number[]> = {};
  for (const { key = '', body } of published) {
    const { n } = JSON.parse(Buffer.from(body).toString()) as { n: number };
    (found[key] ??= []).push(n);
  }
  return found;
}
