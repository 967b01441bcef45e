import { randomUUID } from 'node:crypto';
import type { Holdfast } from 'holdfast';
import type { PoolClient } from 'pg';
import { z } from 'zod';
import { Cents, Name, orderPlaced } from '../events.ts';

/** What a client sends. */
export const OrderInput = z.object({ budgetId: Name, category: Name, item: Name, amountCents: Cents });

export type Order = z.infer<typeof OrderInput> & { readonly orderId: string };

/** Writes an order and its message in the transaction it is given: both are kept, or neither. */
export async function placeOrder(
  tx: PoolClient,
  hf: Holdfast<PoolClient>,
  userId: string,
  input: z.infer<typeof OrderInput>,
): Promise<Order> {
  const order = { orderId: randomUUID(), ...input };
  const { orderId, budgetId, category, item, amountCents } = order;
  await tx.query(
    `insert into budget_orders.orders (order_id, user_id, budget_id, category, item, amount_cents)
     values ($1, $2, $3, $4, $5, $6)`,
    [orderId, userId, budgetId, category, item, amountCents],
  );
  await hf.send(tx, orderPlaced, order, { headers: { 'saga-id': orderId } });
  return order;
}
