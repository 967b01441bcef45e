import { migrate } from 'holdfast/postgres';
import { Client } from 'pg';
import { onTestFinished } from 'vitest';

/** A schema of its own with the tables of the engine and one for effects, without a unique key: a second effect would be seen. */
export async function effectTable(url: string, schema: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await migrate(client, { schema });
  await client.query(`create table ${schema}.effect (place bigserial, id text not null, n int not null)`);
  onTestFinished(async () => {
    await client.query(`drop schema ${schema} cascade`);
    await client.end();
  });
  return client;
}
