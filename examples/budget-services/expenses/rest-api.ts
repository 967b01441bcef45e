import { randomUUID } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { runOf } from 'holdfast/fastify';
import type { ClientSession } from 'mongodb';
import { z } from 'zod';
import { onceForEachKey, restApp, type RestAppParts } from '../parts/rest-app.ts';
import { bookExpense, NoAccountError } from './book-expense.ts';
import { ExpenseInput } from './expense-input.ts';
import type { ExpenseService } from './expense-service.ts';

/** `POST /api/expenses`, once for each `Idempotency-Key`: expense, message and reply are one commit. */
export function restApi({
  service,
  ...parts
}: RestAppParts<ClientSession> & { readonly service: ExpenseService }): FastifyInstance {
  const app = restApp(parts);
  app.post('/api/expenses', { preHandler: onceForEachKey(parts) }, async (request, reply) => {
    const input = ExpenseInput.safeParse(request.body);
    if (!input.success) return reply.code(400).send({ error: z.prettifyError(input.error) });
    try {
      await runOf<ClientSession>(request).commit(async (session) => {
        const expenseId = randomUUID();
        await bookExpense(session, service, { ...input.data, expenseId });
        // Held back until all of it is committed.
        void reply.code(201).send({ expenseId });
      });
    } catch (error) {
      if (!(error instanceof NoAccountError)) throw error;
      return reply.code(422).send({ error: error.message });
    }
    return reply;
  });
  return app;
}
