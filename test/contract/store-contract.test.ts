import { PGlite } from '@electric-sql/pglite';
import { beforeAll, describe, expect, test } from 'vitest';
import { type ContractHarness, storeContract } from '../../src/testing/index.ts';
import { needs } from '../support/needs.ts';
import { memoryHarness } from './memory-harness.ts';
import { freshSchema, pgClient, pgliteClient, postgresJsClient } from './sql-clients.ts';
import { sqlHarness } from './sql-harness.ts';

const cases = storeContract();
let schemas = 0;

async function expectKept<Tx>(run: (typeof cases)[number]['run'], harness: ContractHarness<Tx>): Promise<void> {
  await expect(run(harness)).resolves.toBeUndefined();
}

describe('in memory', () => {
  test.for(cases)('$name [X.12]', ({ run }) => expectKept(run, memoryHarness()));
});

describe('on PGlite', () => {
  let db: PGlite;
  beforeAll(async () => {
    db = await PGlite.create();
    return () => db.close();
  });
  const alone = cases.filter(({ needsOverlap }) => !needsOverlap);
  test.for(alone)('$name [X.12]', async ({ run }) => {
    const schema = `contract_${(schemas += 1)}`;
    await expectKept(run, await sqlHarness(await pgliteClient(db, schema), schema));
  });
});

describe('on the embedded PostgreSQL', () => {
  const embedded = needs('embeddedPostgres');
  for (const { name, run } of cases) {
    embedded(`${name} [X.12]`, async ({ embeddedPostgres: { url, namespace } }) => {
      const schema = `${namespace}_${(schemas += 1)}`;
      await freshSchema(url, schema);
      await expectKept(run, await sqlHarness(await pgClient(url, schema), schema));
    });
  }
});

describe('on PostgreSQL', () => {
  const real = needs('postgres');
  for (const { name, run } of cases) {
    real(`through pg, ${name} [X.12]`, async ({ postgres: { url, namespace } }) => {
      const schema = `${namespace}_${(schemas += 1)}`;
      await freshSchema(url, schema);
      await expectKept(run, await sqlHarness(await pgClient(url, schema), schema));
    });

    real(`through postgres.js, ${name} [X.12]`, async ({ postgres: { url, namespace } }) => {
      const schema = `${namespace}_${(schemas += 1)}`;
      await freshSchema(url, schema);
      await expectKept(run, await sqlHarness(await postgresJsClient(url, schema), schema));
    });
  }
});
