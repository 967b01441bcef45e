import { GraphQLError } from 'graphql';
import type { Holdfast } from 'holdfast';
import type { Pool, PoolClient } from 'pg';
import { bookExpense, type NewExpense, NoAccountError } from './book-expense.ts';

/**
 * Files an expense, once for each key, in one transaction with its message. A reply of GraphQL is made after the last field, so it cannot be
 * part of that commit: the key is, and whoever comes again with it is told what was done.
 */
export async function fileExpense(
  pool: Pool,
  hf: Holdfast<PoolClient>,
  requestKey: string,
  expense: NewExpense,
): Promise<string> {
  const tx = await pool.connect();
  try {
    await tx.query('begin');
    const done = await tx.query<{ id: string }>(
      'select expense_id as id from budget_expenses.request where request_key = $1',
      [requestKey],
    );
    const expenseId = done.rows[0]?.id ?? (await bookExpense(tx, hf, expense));
    if (done.rowCount === 0)
      await tx.query('insert into budget_expenses.request values ($1, $2)', [requestKey, expenseId]);
    await tx.query('commit');
    return expenseId;
  } catch (error) {
    await tx.query('rollback');
    throw error instanceof NoAccountError ? new GraphQLError(error.message) : error;
  } finally {
    tx.release();
  }
}
