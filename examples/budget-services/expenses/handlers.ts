import type { Holdfast } from 'holdfast';
import type { PoolClient } from 'pg';
import { orderPlaced } from '../events.ts';
import { causedBy } from '../parts/caused-by.ts';
import { sevenTries } from '../parts/seven-tries.ts';
import { bookExpense } from './book-expense.ts';

/**
 * An order makes an expense. Expense, its message and the completion of the order's message are one commit. An order of a category
 * without an account fails seven times, then it waits as a dead letter until somebody has opened one.
 */
export function registerHandlers(hf: Holdfast<PoolClient>, speed: number): void {
  hf.on(
    orderPlaced,
    'book-order',
    async ({ orderId, budgetId, category, item, amountCents }, ctx) => {
      const expense = { orderId, budgetId, category, description: item, amountCents };
      await ctx.commit((tx) => bookExpense(tx, hf, expense, causedBy(ctx)));
    },
    { policy: sevenTries(speed) },
  );
}
