import { onTestFinished } from 'vitest';
import { DELIVERY_HANDLER, DELIVERY_SERVICE, DELIVERY_TYPE } from '../../src/delivery/delivery-request.ts';
import type { AttemptReport } from '../../src/delivery/delivery-log.ts';
import type { PublishRequest } from '../../src/delivery/publishing.ts';
import {
  type PostgresDelivery,
  postgresDelivery,
  type PostgresDeliveryOptions,
} from '../../src/postgres/delivery/postgres-delivery.ts';
import { OperatorDatabase } from '../operator/operator-database.ts';
import type { TestServer } from '../support/needs.ts';

export const SECRET = 'a secret of more than 32 characters';

/** A schema of its own with a handler that delivers, which does not run. */
export interface DeliveryDatabase extends PostgresDelivery {
  readonly database: OperatorDatabase;
  /** Publishes one and gives the ids. */
  publishOne(request: PublishRequest): Promise<readonly string[]>;
}

export async function openDeliveries(
  server: TestServer,
  options: Partial<PostgresDeliveryOptions> = {},
): Promise<DeliveryDatabase> {
  const database = await OperatorDatabase.open(server);
  await database.handler(1, DELIVERY_SERVICE, DELIVERY_HANDLER, { types: [DELIVERY_TYPE] });
  const store = postgresDelivery({ pool: database.pool, schema: database.schema, secret: SECRET, ...options });
  onTestFinished(() => store.sender.close());
  return {
    ...store,
    database,
    publishOne: async (request) => {
      const [outcome] = await store.publishing.publish([request]);
      if (outcome?.kind !== 'published') throw new Error(outcome?.message);
      return outcome.messages.map(({ messageId }) => messageId);
    },
  };
}

/** A request with what most tests do not care about. */
export function to(
  url: string,
  change: Partial<PublishRequest['delivery']> = {},
  rest: Partial<PublishRequest> = {},
): PublishRequest {
  return { to: { kind: 'url', url }, delivery: { method: 'POST', retries: 3, headers: {}, ...change }, ...rest };
}

/** How an attempt of a message ended. */
export function attempt(
  messageId: string,
  change: Partial<AttemptReport> = {},
): AttemptReport & { readonly callbacks: readonly [] } {
  return {
    messageId,
    request: { url: 'https://shop.example/orders', method: 'POST', retries: 3, headers: {}, signedBy: 'server' },
    attempt: 1,
    cycle: 0,
    startedAt: new Date(),
    endedAt: new Date(),
    state: 'DELIVERED',
    callbacks: [],
    ...change,
  };
}
