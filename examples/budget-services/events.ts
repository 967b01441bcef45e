import { event } from 'holdfast';
import { z } from 'zod';

/** Money is a whole number of cents. */
export const Cents: z.ZodInt = z.int().positive().max(1_000_000_000);

/** What may be written of something that costs money. */
export const Name: z.ZodString = z.string().trim().min(1).max(80);

/** An order, in the service orders. Goes through RabbitMQ. */
export const orderPlaced = event('order.placed', {
  schema: z.object({ orderId: z.uuid(), budgetId: Name, category: Name, item: Name, amountCents: Cents }),
  key: ({ orderId }) => orderId,
  aggregate: ({ orderId }) => ({ type: 'order', id: orderId }),
});

/** An expense, in the service expenses: of an order, or filed by hand. Goes through Kafka, in order within its budget. */
export const expenseBooked = event('expense.booked', {
  schema: z.object({ expenseId: z.uuid(), budgetId: Name, account: Name, description: Name, amountCents: Cents }),
  key: ({ budgetId }) => budgetId,
  aggregate: ({ expenseId }) => ({ type: 'expense', id: expenseId }),
});

/** A transaction, in the service transactions: of an expense, or recorded by hand. Goes through Kafka to the budgets. */
export const transactionRecorded = event('transaction.recorded', {
  schema: z.object({ transactionId: z.uuid(), budgetId: Name, description: Name, amountCents: Cents }),
  key: ({ budgetId }) => budgetId,
  aggregate: ({ transactionId }) => ({ type: 'transaction', id: transactionId }),
});
