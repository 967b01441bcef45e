import type { Transaction } from '@electric-sql/pglite';
import { beforeAll, expect, test } from 'vitest';
import { findDriver } from '../../src/postgres/driver/find-driver.ts';
import { systemEffects } from '../../src/system/effects.ts';
import { sharedPglite } from '../support/shared-pglite.ts';
import { PG, PGLITE, POSTGRES_JS } from './escape-kinds.ts';
import { describeEscapes } from './escape-suite.ts';

beforeAll(async () => void (await sharedPglite()));

describeEscapes(PG);
describeEscapes(POSTGRES_JS);
describeEscapes(PGLITE);

test('a nested transaction that an effect leaves open undoes all of it with PGlite too: TRANSACTION_UNFINISHED [X.3]', async () => {
  const db = await sharedPglite();
  await db.exec('create temporary table left_open (line text)');
  const work = findDriver(db, systemEffects)?.transaction(
    60_000,
    async (tx) => {
      await (tx as Transaction).exec(`begin`);
      await (tx as Transaction).exec(`insert into left_open values ('inner')`);
    },
    () => Promise.resolve(),
  );
  await expect(work).rejects.toMatchObject({ code: 'TRANSACTION_UNFINISHED' });
  expect((await db.query('select * from left_open')).rows).toEqual([]);
});
