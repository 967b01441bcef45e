import { Pool, type PoolClient } from 'pg';
import { onTestFinished } from 'vitest';
import {
  type Holdfast,
  holdfast,
  type RelayEvent,
  type RunningRelay,
  type Sealing,
  type StartOptions,
} from '../../src/index.ts';
import { postgres } from '../../src/postgres/index.ts';
import type { TransportOption } from '../../src/service/transport-routes.ts';
import { freshSchema } from '../support/fresh-schema.ts';
import type { TestServer } from '../support/needs.ts';

/** One service on a schema of its own: what it has, and what its relays told. */
export interface TestService {
  readonly hf: Holdfast<PoolClient>;
  readonly pool: Pool;
  readonly schema: string;
  readonly events: RelayEvent[];
  /** A service on the same schema, as another deployment or another program. */
  another(options: {
    service?: string;
    generation?: number;
    pinned?: boolean;
    transport?: TransportOption;
    sealing?: Sealing;
  }): Holdfast<PoolClient>;
  start(options?: StartOptions & { of?: Holdfast<PoolClient> }): Promise<RunningRelay>;
  inTransaction<T>(work: (tx: PoolClient) => Promise<T>): Promise<T>;
  /** The first column of each row, with `$` in place of the schema. */
  column(query: string): Promise<unknown[]>;
}

/** Makes a service whose tables are dropped, and whose relays are stopped, when the test ends. */
export async function testService(server: TestServer): Promise<TestService> {
  const schema = await freshSchema(server);
  const pool = new Pool({ connectionString: server.url, max: 10 });
  await pool.query(`create table "${schema}".effect (id text not null, n int, place bigserial)`);
  const running: RunningRelay[] = [];
  onTestFinished(async () => {
    await Promise.all(running.map((relay) => relay.stop({ drainMs: 50 })));
    await pool.end();
  });
  const events: RelayEvent[] = [];
  const another: TestService['another'] = ({ service = 'orders', ...options }) =>
    holdfast<PoolClient>({ service, store: postgres({ pool, schema }), ...options });
  const hf = another({});
  return {
    hf,
    pool,
    schema,
    events,
    another,
    start: async ({ of = hf, ...options } = {}) => {
      const relay = await of.start({ leaseMs: 2_000, observers: [(event) => void events.push(event)], ...options });
      running.push(relay);
      return relay;
    },
    inTransaction: async (work) => inTransaction(pool, work),
    column: async (query) => {
      const { rows } = await pool.query<unknown[]>({ text: query.replaceAll('$', `"${schema}"`), rowMode: 'array' });
      return rows.map(([value]) => value);
    },
  };
}

async function inTransaction<T>(pool: Pool, work: (tx: PoolClient) => Promise<T>): Promise<T> {
  const tx = await pool.connect();
  try {
    await tx.query('begin');
    const result = await work(tx);
    await tx.query('commit');
    return result;
  } catch (error) {
    await tx.query('rollback');
    throw error;
  } finally {
    tx.release();
  }
}
