import { trace } from '@opentelemetry/api';
import { type Holdfast, holdfast, type TransportRoute } from 'holdfast';
import { postgres } from 'holdfast/postgres';
import { traceSends } from 'holdfast/telemetry';
import { Pool, type PoolClient } from 'pg';
import { type PostgresService, schemaOf, type Settings } from './settings.ts';

/** A service: its part of the database, and how its messages go. */
export interface BudgetService {
  readonly hf: Holdfast<PoolClient>;
  readonly pool: Pool;
}

/** Ties a service with its data in PostgreSQL to its schema and to the brokers its messages go through. It starts nothing. */
export function budgetService(
  name: PostgresService,
  { databaseUrl }: Settings,
  ...routes: readonly TransportRoute[]
): BudgetService {
  const pool = new Pool({ connectionString: databaseUrl });
  pool.on('error', (error) => console.error(`${name}: a connection to PostgreSQL broke: ${error.message}`));
  const hf = holdfast({
    service: name,
    store: postgres({ pool, schema: schemaOf(name) }),
    transport: routes,
    wrapSend: traceSends(trace.getTracer('holdfast')),
  });
  return { hf, pool };
}
