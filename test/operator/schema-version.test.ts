import { Pool } from 'pg';
import { describe, expect, onTestFinished } from 'vitest';
import { migrate } from '../../src/postgres/migrate.ts';
import { postgresOperator } from '../../src/postgres/operator/postgres-operator.ts';
import { needs, type TestServer } from '../support/needs.ts';
import { OperatorDatabase } from './operator-database.ts';

const test = needs('postgres');

/** A pool that notes what is asked of it. */
function countingPool(server: TestServer): Pool & { readonly asked: string[] } {
  const pool = new Pool({ connectionString: server.url });
  onTestFinished(() => pool.end());
  const asked: string[] = [];
  const { query } = pool;
  pool.query = ((text: string, values: unknown[]) => {
    asked.push(text);
    return Reflect.apply(query, pool, [text, values]) as unknown;
  }) as typeof query;
  return Object.assign(pool, { asked });
}

describe('the first call of an operator', () => {
  test('looks at the version of the schema once, whoever calls, and no call after it does', async ({ postgres }) => {
    const { schema } = await OperatorDatabase.open(postgres);
    const pool = countingPool(postgres);
    const operator = postgresOperator({ pool, schema });
    expect(pool.asked).toEqual([]);
    await Promise.all([operator.handlers(), operator.stats(), operator.audit()]);
    expect(pool.asked).toHaveLength(4);
    expect(pool.asked.filter((text) => text.includes('.migration'))).toHaveLength(1);
    await operator.handlers();
    await operator.pauseAll({ actor: 'ann' });
    expect(pool.asked).toHaveLength(6);
  });

  test('is refused where the schema is missing, and goes through once it is there', async ({ postgres }) => {
    const schema = `${postgres.namespace}_missing`;
    const pool = countingPool(postgres);
    const operator = postgresOperator({ pool, schema });
    const missing = {
      code: 'SCHEMA_TOO_OLD',
      details: { schema: `"${schema}"`, found: 0, needed: expect.any(Number) },
    };
    await expect(operator.deadLetters()).rejects.toMatchObject(missing);
    await expect(operator.replayWhere({}, { actor: 'ann' })).rejects.toMatchObject(missing);
    // What is wrong without a look at the database is said without one.
    pool.asked.length = 0;
    await expect(operator.audit({ limit: 0 })).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
    expect(await operator.show('x')).toMatchObject({ kind: 'bad-id' });
    expect(pool.asked).toEqual([]);
    const client = await pool.connect();
    await migrate(client, { schema });
    client.release();
    onTestFinished(async () => void (await pool.query(`drop schema "${schema}" cascade`)));
    expect(await operator.handlers()).toEqual([]);
  });

  test('is refused where the schema is older or newer than the release, and changes nothing', async ({ postgres }) => {
    const database = await OperatorDatabase.open(postgres);
    const id = await database.delivery({ state: 'waiting', dueInSeconds: 3600, handler: 0 });
    const operator = postgresOperator({ pool: database.pool, schema: database.schema });
    const [row] = await database.sql<{ version: number }>('select max(version) as version from $S.migration');
    const needed = row?.version ?? 0;
    await database.sql('update $S.migration set version = version + 1000, serves = serves + 1');
    await expect(operator.cancel(id, { actor: 'ann' })).rejects.toMatchObject({
      code: 'SCHEMA_TOO_NEW',
      details: { found: needed + 1000, known: needed },
    });
    await database.sql('delete from $S.migration');
    await expect(operator.cancel(id, { actor: 'ann' })).rejects.toMatchObject({
      code: 'SCHEMA_TOO_OLD',
      details: { found: 0, needed },
    });
    expect(await database.rows(id)).toHaveLength(1);
  });
});
