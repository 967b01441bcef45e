import type { FastifyInstance } from 'fastify';
import type { Holdfast } from 'holdfast';
import { runOf } from 'holdfast/fastify';
import type { PoolClient } from 'pg';
import { z } from 'zod';
import { onceForEachKey, restApp, type RestAppParts } from '../parts/rest-app.ts';
import { recordTransaction } from './record-transaction.ts';
import { TransactionInput } from './transaction-input.ts';

/** `POST /api/transactions`, once for each `Idempotency-Key`: transaction, message and reply are one commit. */
export function restApi({
  hf,
  ...parts
}: RestAppParts<PoolClient> & { readonly hf: Holdfast<PoolClient> }): FastifyInstance {
  const app = restApp(parts);
  app.post('/api/transactions', { preHandler: onceForEachKey(parts) }, async (request, reply) => {
    const input = TransactionInput.safeParse(request.body);
    if (!input.success) return reply.code(400).send({ error: z.prettifyError(input.error) });
    await runOf<PoolClient>(request).commit(async (tx) => {
      const transactionId = await recordTransaction(tx, hf, input.data);
      // Held back until all of it is committed.
      void reply.code(201).send({ transactionId });
    });
    return reply;
  });
  return app;
}
