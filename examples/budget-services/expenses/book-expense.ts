import { randomUUID } from 'node:crypto';
import type { Holdfast, SendOptions } from 'holdfast';
import type { PoolClient } from 'pg';
import { expenseBooked } from '../events.ts';

/** An expense before it has an account. */
export interface NewExpense {
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

/** Writes an expense and its message in the transaction it is given, and answers its id. */
export async function bookExpense(
  tx: PoolClient,
  hf: Holdfast<PoolClient>,
  { orderId, budgetId, category, description, amountCents }: NewExpense,
  cause: SendOptions = {},
): Promise<string> {
  const found = await tx.query<{ account: string }>('select account from budget_expenses.account where category = $1', [
    category,
  ]);
  const account = found.rows[0]?.account;
  if (account === undefined) throw new NoAccountError(category);
  const expenseId = randomUUID();
  await tx.query(
    `insert into budget_expenses.expense (expense_id, order_id, budget_id, account, description, amount_cents)
     values ($1, $2, $3, $4, $5, $6)`,
    [expenseId, orderId, budgetId, account, description, amountCents],
  );
  await hf.send(tx, expenseBooked, { expenseId, budgetId, account, description, amountCents }, cause);
  return expenseId;
}
