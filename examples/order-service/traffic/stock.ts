import { event, type Holdfast, TerminalHandlerError } from 'holdfast';
import type { Pool, PoolClient } from 'pg';
import { z } from 'zod';

/** What is taken out of the store room. What is taken of one item is booked in its order. */
export const stockTaken = event('stock.taken', {
  schema: z.object({ item: z.string(), pieces: z.number().int().positive(), orderId: z.uuid() }),
  key: (taken) => taken.item,
  aggregate: (taken) => ({ type: 'item', id: taken.item }),
});

/** Asks a customer how it was, some time after the order. */
export const reviewAsked = event('review.asked', {
  schema: z.object({ orderId: z.uuid(), email: z.string() }),
  key: (asked) => asked.orderId,
});

const TABLE = `
  create table if not exists shop.stock (item text primary key, pieces int not null check (pieces >= 0));
  create table if not exists shop.review_asked (order_id uuid not null, at timestamptz not null default clock_timestamp());
`;

/** Makes the tables and registers the handlers. More than there is cannot be taken: that is a dead letter, and its item waits behind it. */
export async function registerStock(hf: Holdfast<PoolClient>, pool: Pool): Promise<void> {
  await pool.query(TABLE);
  hf.on(stockTaken, 'store-room', async ({ item, pieces }, ctx) => {
    await ctx.commit(async (tx) => {
      const { rowCount } = await tx.query(
        'update shop.stock set pieces = pieces - $2 where item = $1 and pieces >= $2',
        [item, pieces],
      );
      if (rowCount === 0) throw new TerminalHandlerError(`fewer than ${pieces} pieces of "${item}" are left`);
    });
  });
  hf.on(reviewAsked, 'ask-review', async ({ orderId }, ctx) => {
    await ctx.commit((tx) => tx.query('insert into shop.review_asked (order_id) values ($1)', [orderId]));
  });
}

/** More of it has come in. */
export async function restock(pool: Pool, item: string, pieces: number): Promise<void> {
  await pool.query(
    `insert into shop.stock values ($1, $2) on conflict (item) do update set pieces = stock.pieces + excluded.pieces`,
    [item, pieces],
  );
}

/** Nothing of it is left. */
export async function sellOut(pool: Pool, item: string): Promise<void> {
  await pool.query(`insert into shop.stock values ($1, 0) on conflict (item) do update set pieces = 0`, [item]);
}
