import { randomUUID } from 'node:crypto';
import type { Holdfast, SendOptions } from 'holdfast';
import type { PoolClient } from 'pg';
import { transactionRecorded } from '../events.ts';

/** A transaction that is not yet written. */
export interface NewTransaction {
  /** The expense it pays; none when it was recorded by hand. */
  readonly expenseId?: string | undefined;
  readonly budgetId: string;
  readonly description: string;
  readonly amountCents: number;
}

/** Writes a transaction and its message in the transaction of the database it is given, and answers its id. */
export async function recordTransaction(
  tx: PoolClient,
  hf: Holdfast<PoolClient>,
  { expenseId, budgetId, description, amountCents }: NewTransaction,
  cause: SendOptions = {},
): Promise<string> {
  const transactionId = randomUUID();
  await tx.query(
    `insert into budget_transactions.transaction (transaction_id, expense_id, budget_id, description, amount_cents)
     values ($1, $2, $3, $4, $5)`,
    [transactionId, expenseId, budgetId, description, amountCents],
  );
  await hf.send(tx, transactionRecorded, { transactionId, budgetId, description, amountCents }, cause);
  return transactionId;
}
