import { event } from 'holdfast';
import { z } from 'zod';

/** What is told about an order that was placed. */
export const Order = z.object({
  orderId: z.uuid(),
  /** 1, 2, 3, …: what people call it. */
  number: z.number().int().positive(),
  item: z.string(),
  totalCents: z.number().int().positive(),
  /** ISO 4217. */
  currency: z.string().length(3),
  email: z.string(),
});

export type Order = z.infer<typeof Order>;

/** Sent in the transaction that stores the order. Messages of one order are handled one after the other. */
export const orderPlaced = event('order.placed', {
  schema: Order,
  key: (order) => order.orderId,
  aggregate: (order) => ({ type: 'order', id: order.orderId }),
});
