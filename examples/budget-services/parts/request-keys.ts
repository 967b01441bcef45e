import { type AtomicIdempotencyStore, type Idempotency, idempotency, layered } from 'holdfast/idempotency';
import { redisReplyCache } from 'holdfast/redis';
import { logIdempotency, traceIdempotency } from 'holdfast/telemetry';
import { Redis } from 'ioredis';
import { serviceLog } from './service-log.ts';
import type { ServiceMetrics } from './service-metrics.ts';
import type { ServiceName, Settings } from './settings.ts';

/** The requests a service has answered. */
export interface RequestKeys<Tx> {
  readonly keys: Idempotency<Tx>;
  readonly stop: () => void;
}

/**
 * Repetitions are answered from Redis; the store in the service's own database decides who runs, and answers when Redis is away. Its record
 * is written in the transaction of the request.
 */
export function requestKeys<Tx>(
  service: ServiceName,
  truth: AtomicIdempotencyStore<Tx>,
  { redisUrl, prefix }: Settings,
  metrics: ServiceMetrics,
): RequestKeys<Tx> {
  const client = new Redis(redisUrl, { maxRetriesPerRequest: 1 });
  // Without Redis it goes on, slower; the log says so.
  client.on('error', () => undefined);
  const observers = [metrics.requests.observe, traceIdempotency(), logIdempotency(serviceLog(service))];
  const store = layered({
    cache: redisReplyCache({ client, prefix: `${prefix}${service}:` }),
    truth,
    observers,
  });
  return { keys: idempotency({ service, store, observers }), stop: () => client.disconnect() };
}
