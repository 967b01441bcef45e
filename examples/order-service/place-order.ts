import { randomUUID } from 'node:crypto';
import type { Holdfast } from 'holdfast';
import type { Pool, PoolClient } from 'pg';
import { type Order, orderPlaced } from './order.ts';

/** What a customer says. */
export type NewOrder = Pick<Order, 'item' | 'totalCents' | 'currency' | 'email'>;

/** What is known of the request besides the order. */
export interface Asked {
  /** Joins all that the request leads to: `holdfast trace` finds it by this id. */
  readonly requestId?: string | undefined;
  /** Nobody pressed a button for it. */
  readonly isTraffic?: boolean | undefined;
}

/** Stores the order and sends its message in one transaction: both are kept, or neither. */
export async function placeOrder(
  pool: Pool,
  hf: Pick<Holdfast<PoolClient>, 'send'>,
  { item, totalCents, currency, email }: NewOrder,
  { requestId, isTraffic = false }: Asked = {},
): Promise<{ readonly order: Order; readonly messageId: string }> {
  const client = await pool.connect();
  let failure: Error | undefined;
  try {
    await client.query('begin');
    const orderId = randomUUID();
    const { rows } = await client.query<{ number: number }>(
      `insert into shop.placed_order (id, item, total_cents, currency, email, is_traffic)
       values ($1, $2, $3, $4, $5, $6) returning number`,
      [orderId, item, totalCents, currency, email, isTraffic],
    );
    const order: Order = { orderId, number: rows[0]?.number ?? 0, item, totalCents, currency, email };
    const { id: messageId } = await hf.send(client, orderPlaced, order, { correlationId: requestId });
    await client.query('update shop.placed_order set message_id = $2 where id = $1', [orderId, messageId]);
    await client.query('commit');
    return { order, messageId };
  } catch (error) {
    failure = error as Error;
    await client.query('rollback').catch(() => undefined);
    throw error;
  } finally {
    // A connection on which something went wrong is not handed to the next one.
    client.release(failure);
  }
}
