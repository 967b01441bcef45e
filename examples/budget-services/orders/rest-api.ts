import type { FastifyInstance } from 'fastify';
import type { Holdfast } from 'holdfast';
import { runOf } from 'holdfast/fastify';
import type { PoolClient } from 'pg';
import { z } from 'zod';
import { onceForEachKey, restApp, type RestAppParts, userOf } from '../parts/rest-app.ts';
import { OrderInput, placeOrder } from './place-order.ts';

/** `POST /api/orders`, once for each `Idempotency-Key`: order, message and reply are one commit. */
export function restApi({
  hf,
  ...parts
}: RestAppParts<PoolClient> & { readonly hf: Holdfast<PoolClient> }): FastifyInstance {
  const app = restApp(parts);
  app.post('/api/orders', { preHandler: onceForEachKey(parts) }, async (request, reply) => {
    const input = OrderInput.safeParse(request.body);
    if (!input.success) return reply.code(400).send({ error: z.prettifyError(input.error) });
    await runOf<PoolClient>(request).commit(async (tx) => {
      const order = await placeOrder(tx, hf, userOf(request), input.data);
      // Held back until all of it is committed.
      void reply.code(201).send(order);
    });
    return reply;
  });
  return app;
}
