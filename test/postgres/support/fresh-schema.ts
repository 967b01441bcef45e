import { Client, type ClientConfig, Pool } from 'pg';
import { onTestFinished } from 'vitest';
import { migrate } from '../../../src/postgres/index.ts';
import type { TestServer } from '../../support/needs.ts';

/** A connection that ends with the test. */
export async function connect(server: Pick<TestServer, 'url'>, config: ClientConfig = {}): Promise<Client> {
  const client = new Client({ connectionString: server.url, ...config });
  // Tests end sessions on purpose.
  client.on('error', () => undefined);
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

/** A pool that ends with the test. */
export function pooled(server: Pick<TestServer, 'url'>): Pool {
  const pool = new Pool({ connectionString: server.url });
  pool.on('error', () => undefined);
  onTestFinished(() => pool.end());
  return pool;
}

let schemas = 0;

/** A migrated schema for one test, dropped after it. Its rows are checked as they are written. */
export async function freshSchema(server: TestServer): Promise<string> {
  const schema = `${server.namespace}_${(schemas += 1)}`;
  // Registered before the test's own connections, so that it runs after they have ended: an open transaction would hold it up.
  onTestFinished(() => once(server, (client) => client.query(`drop schema if exists ${schema} cascade`)));
  await once(server, async (client) => {
    await migrate(client, { schema });
  });
  return schema;
}

async function once(server: TestServer, use: (client: Client) => Promise<unknown>): Promise<void> {
  const client = new Client({ connectionString: server.url });
  await client.connect();
  try {
    await use(client);
  } finally {
    await client.end();
  }
}
