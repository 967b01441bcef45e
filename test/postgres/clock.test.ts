import { expect } from 'vitest';
import { postgres } from '../../src/postgres/index.ts';
import { needs } from '../support/needs.ts';
import { connect, freshSchema, pooled } from './support/fresh-schema.ts';
import { join } from './support/worker.ts';

const test = needs('postgres');

test("a worker that died before the database's clock was set back is buried after its lease, and not when the clock is there again [S4.2]", async ({
  postgres: server,
}) => {
  const schema = await freshSchema(server);
  const client = await connect(server);
  const store = postgres({ pool: pooled(server), schema });
  const dead = await join(store, { leaseMs: 300 });
  const living = await join(store, { leaseMs: 60_000 });
  // What an hour back looks like from here: it seems to live for an hour more.
  await client.query(`update ${schema}.worker set expires_at = clock_timestamp() + interval '1 hour' where id = $1`, [
    dead.id,
  ]);
  const workers = async (): Promise<string[]> => (await living.session.survey(living.id)).workers.map(({ id }) => id);
  expect(await workers()).toContain(dead.id);
  await expect.poll(workers).toEqual([living.id]);
});
