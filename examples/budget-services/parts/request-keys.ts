import { type Idempotency, idempotency, layered } from 'holdfast/idempotency';
import { postgresIdempotency } from 'holdfast/postgres';
import { redisReplyCache } from 'holdfast/redis';
import { logIdempotency, traceIdempotency } from 'holdfast/telemetry';
import { Redis } from 'ioredis';
import type { Pool, PoolClient } from 'pg';
import { serviceLog } from './service-log.ts';
import type { ServiceMetrics } from './service-metrics.ts';
import { schemaOf, type ServiceName, type Settings } from './settings.ts';

/** The requests a service has answered. */
export interface RequestKeys {
  readonly keys: Idempotency<PoolClient>;
  readonly stop: () => void;
}

/**
 * Repetitions are answered from Redis; PostgreSQL decides who runs, and answers when Redis is away. Its record is written in the
 * transaction of the request.
 */
export function requestKeys(
  service: ServiceName,
  pool: Pool,
  { redisUrl, prefix }: Settings,
  metrics: ServiceMetrics,
): RequestKeys {
  const client = new Redis(redisUrl, { maxRetriesPerRequest: 1 });
  // Without Redis it goes on, slower; the log says so.
  client.on('error', () => undefined);
  const observers = [metrics.requests.observe, traceIdempotency(), logIdempotency(serviceLog(service))];
  const store = layered({
    cache: redisReplyCache({ client, prefix: `${prefix}${service}:` }),
    truth: postgresIdempotency({ pool, schema: schemaOf(service) }),
    observers,
  });
  return { keys: idempotency({ service, store, observers }), stop: () => client.disconnect() };
}
