import { Client, type ClientConfig, Pool } from 'pg';
import { onTestFinished } from 'vitest';
import type { TestServer } from '../../support/needs.ts';

export { freshSchema } from '../../support/fresh-schema.ts';

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
