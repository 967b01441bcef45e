import { trace } from '@opentelemetry/api';
import { type Holdfast, holdfast, type TransportOption } from 'holdfast';
import { kafka } from 'holdfast/kafka';
import { postgres } from 'holdfast/postgres';
import { rabbitmq } from 'holdfast/rabbitmq';
import { traceSends } from 'holdfast/telemetry';
import { Pool, type PoolClient } from 'pg';
import { schemaOf, type ServiceName, type Settings } from './settings.ts';

/** A service: its part of the database, and how its messages go. */
export interface BudgetService {
  readonly hf: Holdfast<PoolClient>;
  readonly pool: Pool;
}

/** Ties a service to its schema and to both brokers. It starts nothing. */
export function budgetService(name: ServiceName, settings: Settings): BudgetService {
  const pool = new Pool({ connectionString: settings.databaseUrl });
  pool.on('error', (error) => console.error(`${name}: a connection to PostgreSQL broke: ${error.message}`));
  const hf = holdfast({
    service: name,
    store: postgres({ pool, schema: schemaOf(name) }),
    transport: waysOf(settings),
    wrapSend: traceSends(trace.getTracer('holdfast')),
  });
  return { hf, pool };
}

/** Orders go through RabbitMQ, what follows from them through Kafka; the same in all services. */
function waysOf({ rabbitmqUrl, kafkaBrokers, prefix }: Settings): TransportOption {
  return [
    { events: ['order.*'], transport: rabbitmq({ url: rabbitmqUrl, prefix }) },
    { events: ['expense.*', 'transaction.*'], transport: kafka({ brokers: kafkaBrokers, prefix }) },
  ];
}
