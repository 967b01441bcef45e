import { createServer } from 'node:http';
import type { Tracer } from '@opentelemetry/api';
import fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';
import type { Holdfast } from 'holdfast';
import { idempotent, runOf } from 'holdfast/fastify';
import type { Idempotency } from 'holdfast/idempotency';
import type { PoolClient } from 'pg';
import { z } from 'zod';
import { inServerSpans } from '../parts/http-server-span.ts';
import { OrderInput, placeOrder } from './place-order.ts';

/** What the API works with. */
export interface RestApiParts {
  readonly hf: Holdfast<PoolClient>;
  readonly keys: Idempotency<PoolClient>;
  readonly tracer: Tracer;
}

/** `POST /api/orders`, once for each `Idempotency-Key`: order, message and reply are one commit. */
export function restApi({ hf, keys, tracer }: RestApiParts): FastifyInstance {
  const app = fastify({
    forceCloseConnections: true,
    serverFactory: (answer) => createServer(inServerSpans(tracer, answer)),
  });
  const guard = idempotent<PoolClient, FastifyRequest>(keys, { person: userOf, keyFormat: 'uuid-v4', atomic: true });
  app.post('/api/orders', { preHandler: guard }, async (request, reply) => {
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

/** Whoever stands before this service has found out who asks, and says so. */
function userOf({ headers }: Pick<FastifyRequest, 'headers'>): string {
  return String(headers['x-user'] ?? '');
}
