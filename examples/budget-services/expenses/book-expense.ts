import type { SendOptions } from 'holdfast';
import type { ClientSession } from 'mongodb';
import { expenseBooked } from '../events.ts';
import type { ExpenseService } from './expense-service.ts';

/** An expense before it has an account. */
export interface NewExpense {
  readonly expenseId: string;
  /** The order it comes from; none when it was filed by hand. */
  readonly orderId?: string | undefined;
  readonly budgetId: string;
  readonly category: string;
  readonly description: string;
  readonly amountCents: number;
}

/** There is no account for what was bought. Somebody has to open one. */
export class NoAccountError extends Error {
  constructor(category: string) {
    super(`there is no account for ${category}`);
    this.name = 'NoAccountError';
  }
}

/** Writes an expense and its message in the transaction of the session. */
export async function bookExpense(
  session: ClientSession,
  { collections: { accounts, expenses }, outbox }: Pick<ExpenseService, 'collections' | 'outbox'>,
  { expenseId, orderId, budgetId, category, description, amountCents }: NewExpense,
  cause: SendOptions = {},
): Promise<void> {
  const found = await accounts.findOne({ _id: category }, { session });
  if (!found) throw new NoAccountError(category);
  const { account } = found;
  const expense = { expenseId, orderId: orderId ?? null, budgetId, account, description, amountCents };
  await expenses.insertOne(expense, { session });
  await outbox.send(session, expenseBooked, { expenseId, budgetId, account, description, amountCents }, cause);
}
