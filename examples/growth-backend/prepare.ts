import { migrate } from 'holdfast/postgres';
import { Client } from 'pg';
import { GROWTH_TABLES } from './tables.ts';

/** Makes what is missing: the schema of the engine, and the tables of the example. */
export async function prepare(connectionString: string): Promise<void> {
  const client = new Client({ connectionString });
  await client.connect();
  try {
    await migrate(client);
    await client.query(GROWTH_TABLES);
  } finally {
    await client.end();
  }
}
