import { randomUUID } from 'node:crypto';
import { orderPlaced } from '../events.ts';
import { causedBy } from '../parts/caused-by.ts';
import { bookExpense } from './book-expense.ts';
import type { ExpenseService } from './expense-service.ts';

/**
 * An order makes an expense. Expense, its message and the completion of the order's message are one commit. An order of a category
 * without an account fails seven times, then it waits as a dead letter until somebody has opened one.
 */
export function registerHandlers(service: ExpenseService): void {
  service.inbox.on(orderPlaced, async ({ orderId, budgetId, category, item, amountCents }, session, ctx) => {
    const expense = { expenseId: randomUUID(), orderId, budgetId, category, description: item, amountCents };
    await bookExpense(session, service, expense, causedBy(ctx));
  });
}
