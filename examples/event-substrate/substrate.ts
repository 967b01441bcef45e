import { type Holdfast, holdfast } from 'holdfast';
import { migrate, postgres } from 'holdfast/postgres';
import { Pool, type PoolClient } from 'pg';

/** No unique keys, on purpose: a second effect would be seen. */
const TABLES = `
  create schema if not exists billing;
  create table if not exists billing.invoice (
    id text primary key, customer_id text not null, net_cents int not null, tax_code text not null);
  create table if not exists billing.ledger_entry (
    invoice_id text not null, gross_cents int not null, generation int not null, at timestamptz not null default now());
  create table if not exists billing.customer_notice (
    invoice_id text not null, idempotency_key text not null, attempt int not null, generation int not null);
`;

/** The database that DATABASE_URL names. */
export function openPool(): Pool {
  const connectionString = process.env['DATABASE_URL'];
  if (!connectionString)
    throw new Error('set DATABASE_URL, for example to postgres://user:password@localhost:5432/app');
  const pool = new Pool({ connectionString });
  pool.on('error', (error) => console.error(`A connection to the database was lost: ${error.message}`));
  return pool;
}

/** Makes the schema of the substrate and the tables of the example. */
export async function prepare(pool: Pool): Promise<void> {
  const client = await pool.connect();
  try {
    await migrate(client);
  } finally {
    client.release();
  }
  await pool.query(TABLES);
}

/** The billing service as one generation of its code: its events stay with it while the next one is rolled out. */
export function billing(pool: Pool, generation: number): Holdfast<PoolClient> {
  return holdfast({ service: 'billing', store: postgres({ pool }), generation, pinned: true });
}
