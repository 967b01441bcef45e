import { afterAll, describe, expect } from 'vitest';
import { postgres } from '../../src/postgres/index.ts';
import { storeContract } from '../../src/testing/index.ts';
import { needs, type TestServer } from '../support/needs.ts';
import { startPgbouncer } from '../support/pgbouncer.ts';
import { postgresHarness } from './support/contract-harness.ts';
import { freshSchema, pooled } from './support/fresh-schema.ts';
import { pgUnderTest } from './support/pg-under-test.ts';
import { join } from './support/worker.ts';

const test = needs('postgres', 'pgbouncer');

type Bouncer = Awaited<ReturnType<typeof startPgbouncer>>;
let running: Promise<Bouncer> | undefined;

/** One for all tests of this file, started by the first. */
function pooler(program: TestServer, server: TestServer): Promise<Bouncer> {
  running ??= startPgbouncer(program.url, server.url);
  return running;
}

afterAll(async () => (await running)?.stop());

describe('PostgreSQL behind a pooler in transaction mode', () => {
  test('cannot be listened to and shows no process that dies, which is noticed, unless a direct way is given [S4.6] [X.2]', async ({
    postgres: server,
    pgbouncer,
  }) => {
    const schema = await freshSchema(server);
    const pool = pooled(await pooler(pgbouncer, server));
    const worker = await join(postgres({ pool, schema }));
    expect(await worker.session.listen(() => undefined)).toBe(false);
    const direct = await join(postgres({ pool, schema, listen: pooled(server) }));
    expect(await direct.session.listen(() => undefined)).toBe(true);
    // A connection of the pooler's says nothing about a process: there only the lease counts.
    for (const { session, id } of [worker, direct]) await session.survey(id);
    const { rows } = await pool.query(`select id::text, liveness_lock is not null as "hasLock" from ${schema}.worker`);
    expect(new Map(rows.map(({ id, hasLock }) => [id, hasLock]))).toEqual(
      new Map([
        [worker.id, false],
        [direct.id, true],
      ]),
    );
  });

  for (const { name, run } of storeContract()) {
    // Nobody can be woken through it; the case before says so.
    if (name === 'a worker that dozes is woken by a commit') continue;
    test(`${name} [X.12]`, async ({ postgres: server, pgbouncer }) => {
      const schema = await freshSchema(server);
      const under = pgUnderTest(await pooler(pgbouncer, server), schema);
      await expect(run(await postgresHarness(schema, under))).resolves.toBeUndefined();
    });
  }
});
