import { beforeAll, describe, expect, test } from 'vitest';
import { type ContractHarness, storeContract } from '../../src/testing/index.ts';
import { freshSchema, freshSchemaOn } from '../support/fresh-schema.ts';
import { needs } from '../support/needs.ts';
import { sharedPglite } from '../support/shared-pglite.ts';
import { memoryHarness } from './memory-harness.ts';
import { pgClient, pgliteClient, postgresJsClient } from './sql-clients.ts';
import { sqlHarness } from './sql-harness.ts';

const cases = storeContract();

async function expectKept<Tx>(run: (typeof cases)[number]['run'], harness: ContractHarness<Tx>): Promise<void> {
  await expect(run(harness)).resolves.toBeUndefined();
}

describe('in memory', () => {
  test.for(cases)('$name [X.12]', ({ run }) => expectKept(run, memoryHarness()));
});

describe('on PGlite', () => {
  beforeAll(async () => void (await sharedPglite()));
  const alone = cases.filter(({ needsOverlap }) => !needsOverlap);
  test.for(alone)('$name [X.12]', async ({ run }) => {
    const db = await sharedPglite();
    const schema = await freshSchemaOn(db);
    await expectKept(run, await sqlHarness(await pgliteClient(db, schema), schema));
  });
});

describe('on the embedded PostgreSQL', () => {
  const embedded = needs('embeddedPostgres');
  for (const { name, run } of cases) {
    embedded(`${name} [X.12]`, async ({ embeddedPostgres }) => {
      const schema = await freshSchema(embeddedPostgres);
      await expectKept(run, await sqlHarness(await pgClient(embeddedPostgres.url, schema), schema));
    });
  }
});

describe('on PostgreSQL', () => {
  const real = needs('postgres');
  for (const { name, run } of cases) {
    real(`through pg, ${name} [X.12]`, async ({ postgres }) => {
      const schema = await freshSchema(postgres);
      await expectKept(run, await sqlHarness(await pgClient(postgres.url, schema), schema));
    });

    real(`through postgres.js, ${name} [X.12]`, async ({ postgres }) => {
      const schema = await freshSchema(postgres);
      await expectKept(run, await sqlHarness(await postgresJsClient(postgres.url, schema), schema));
    });
  }
});
