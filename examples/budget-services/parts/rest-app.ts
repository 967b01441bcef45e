import { createServer } from 'node:http';
import type { Tracer } from '@opentelemetry/api';
import fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';
import { idempotent } from 'holdfast/fastify';
import type { Idempotency } from 'holdfast/idempotency';
import { inServerSpans } from './http-server-span.ts';
import type { ServiceMetrics } from './service-metrics.ts';

/** What every REST API works with. */
export interface RestAppParts<Tx> {
  readonly keys: Idempotency<Tx>;
  readonly tracer: Tracer;
  readonly metrics: ServiceMetrics;
}

/** A server with `GET /metrics` and no other route. */
export function restApp({ tracer, metrics }: Pick<RestAppParts<never>, 'tracer' | 'metrics'>): FastifyInstance {
  const app = fastify({
    forceCloseConnections: true,
    serverFactory: (answer) => createServer(inServerSpans(tracer, answer)),
  });
  app.get('/metrics', (_request, reply) => reply.type(metrics.contentType).send(metrics.text()));
  return app;
}

/** Lets a request through once for each `Idempotency-Key` (a UUID): its effect, its message and its reply are one commit. */
export function onceForEachKey<Tx>({
  keys,
}: Pick<RestAppParts<Tx>, 'keys'>): ReturnType<typeof idempotent<Tx, FastifyRequest>> {
  return idempotent<Tx, FastifyRequest>(keys, { person: userOf, keyFormat: 'uuid-v4', atomic: true });
}

/** Whoever stands before this service has found out who asks, and says so. */
export function userOf({ headers }: Pick<FastifyRequest, 'headers'>): string {
  return String(headers['x-user'] ?? '');
}
