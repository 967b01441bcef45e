import { randomUUID } from 'node:crypto';
import { GraphQLError } from 'graphql';
import { bookExpense, type NewExpense, NoAccountError } from './book-expense.ts';
import type { ExpenseService } from './expense-service.ts';

/**
 * Files an expense, once for each key, in one transaction with its message. A reply of GraphQL is made after the last field, so it cannot be
 * part of that commit: the key is, and whoever comes again with it is told what was done.
 */
export async function fileExpense(
  service: ExpenseService,
  requestKey: string,
  expense: Omit<NewExpense, 'expenseId'>,
): Promise<string> {
  const { outbox, collections } = service;
  try {
    return await outbox.transaction(async (session) => {
      const done = await collections.requests.findOne({ _id: requestKey }, { session });
      if (done) return done.expenseId;
      const expenseId = randomUUID();
      await bookExpense(session, service, { ...expense, expenseId });
      await collections.requests.insertOne({ _id: requestKey, expenseId }, { session });
      return expenseId;
    });
  } catch (error) {
    throw error instanceof NoAccountError ? new GraphQLError(error.message) : error;
  }
}
