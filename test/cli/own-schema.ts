import { Client } from 'pg';
import { onTestFinished } from 'vitest';
import type { TestServer } from '../support/needs.ts';

let schemas = 0;

/** A schema's name that no other test uses, and the variables that lead the program to it. It is dropped after the test. */
export function ownSchema(server: TestServer): { readonly schema: string; readonly env: NodeJS.ProcessEnv } {
  const schema = `${server.namespace}_${(schemas += 1)}`;
  onTestFinished(async () => {
    const cleaner = new Client({ connectionString: server.url });
    await cleaner.connect();
    await cleaner.query(`drop schema if exists "${schema}" cascade`);
    await cleaner.end();
  });
  return { schema, env: { HOLDFAST_DATABASE_URL: server.url, HOLDFAST_SCHEMA: schema } };
}

/** A connection that ends with the test. */
export async function connect(server: TestServer): Promise<Client> {
  const client = new Client({ connectionString: server.url });
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}
