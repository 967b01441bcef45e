import type { PGlite } from '@electric-sql/pglite';
import type { Pool } from 'pg';
import type { Sql } from 'postgres';
import { expectTypeOf, test } from 'vitest';
import { event } from '../../outbox/event.ts';
import type { Holdfast } from '../../service/holdfast.ts';
import type { MemoryStore } from '../memory-store.ts';
import type { MemoryTransaction } from '../memory-transaction.ts';
import { assertSent, sentBy } from './assert-sent.ts';
import { freshSchema } from './fresh-schema.ts';
import type { PartOf } from './match-payload.ts';
import type { SentMessage, SentPlace } from './sent-place.ts';
import { tryHandler } from './try-handler.ts';

interface Order {
  readonly orderId: string;
  readonly items: readonly { readonly sku: string }[];
}
const placed = event<Order>('order.placed');

test('a payload that is looked for is a part of what the event has [X.13]', () => {
  expectTypeOf<{ orderId: string }>().toExtend<PartOf<Order>>();
  expectTypeOf<{ orderId: number }>().not.toExtend<PartOf<Order>>();
  const look = (store: MemoryStore): Promise<readonly SentMessage[]>[] => [
    assertSent(store, placed, { orderId: 'ord_1' }),
    assertSent(store, placed, ({ items }) => items.length === 1),
    // @ts-expect-error -- there is no such field
    assertSent(store, placed, { order: 'ord_1' }),
  ];
  expectTypeOf(look).returns.toEqualTypeOf<Promise<readonly SentMessage[]>[]>();
});

test('places are stores, schemas, pools and transactions [X.13]', () => {
  expectTypeOf<MemoryStore>().toExtend<SentPlace>();
  expectTypeOf<Pool>().toExtend<SentPlace>();
  expectTypeOf<{ pool: Sql; schema: string }>().toExtend<SentPlace>();
  expectTypeOf<string>().not.toExtend<SentPlace>();
  const take = (db: PGlite) => freshSchema(db);
  expectTypeOf<Awaited<ReturnType<typeof take>>['pool']>().toEqualTypeOf<PGlite>();
  const act = (store: MemoryStore) => sentBy(store, async () => 5);
  expectTypeOf<Awaited<ReturnType<typeof act>>['value']>().toEqualTypeOf<number>();
});

test('a handler is tried with the payload and the transaction that it takes [X.13]', () => {
  const attempt = (hf: Holdfast<MemoryTransaction>, tx: MemoryTransaction): unknown[] => [
    tryHandler(hf, 'charge', placed, { orderId: 'ord_1', items: [] }, { tx }),
    // @ts-expect-error -- an order has items
    tryHandler(hf, 'charge', placed, { orderId: 'ord_1' }),
    // @ts-expect-error -- that is no transaction of the store
    tryHandler(hf, 'charge', placed, { orderId: 'ord_1', items: [] }, { tx: 5 }),
  ];
  expectTypeOf(attempt).returns.toEqualTypeOf<unknown[]>();
});
