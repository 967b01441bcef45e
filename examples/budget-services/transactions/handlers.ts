import type { Holdfast } from 'holdfast';
import type { PoolClient } from 'pg';
import { expenseBooked, transactionRecorded } from '../events.ts';
import { causedBy } from '../parts/caused-by.ts';
import { sevenTries } from '../parts/seven-tries.ts';
import { recordTransaction } from './record-transaction.ts';

/** An expense makes a transaction; a transaction, wherever it comes from, is added to its budget. */
export function registerHandlers(hf: Holdfast<PoolClient>, speed: number): void {
  hf.on(
    expenseBooked,
    'pay-expense',
    async (expense, ctx) => {
      await ctx.commit((tx) => recordTransaction(tx, hf, expense, causedBy(ctx)));
    },
    { policy: sevenTries(speed) },
  );
  hf.project(
    transactionRecorded,
    'budget',
    async ({ budgetId, amountCents }, tx) => {
      await tx.query(
        `insert into budget_transactions.budget (budget_id, spent_cents, transactions) values ($1, $2, 1)
         on conflict (budget_id) do update
         set spent_cents = budget.spent_cents + excluded.spent_cents, transactions = budget.transactions + 1`,
        [budgetId, amountCents],
      );
    },
    { policy: sevenTries(speed) },
  );
}
