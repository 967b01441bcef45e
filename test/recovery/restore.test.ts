import { join } from 'node:path';
import { expect, test } from 'vitest';
import { postgresOperator } from '../../src/postgres/index.ts';
import { privatePostgres } from '../crash/private-postgres.ts';
import { openSteps } from './steps.ts';

test('A backup that was taken in the middle of work goes on where it was on another server: what was done is not done again, the rest is [X.3] [X.18]', async () => {
  const first = await privatePostgres();
  const before = await openSteps(first.url, true);
  for (let n = 0; n < 40; n += 1) await before.send(n, n % 10 === 9);
  const worker = await before.hf.start({ pollMs: 50 });
  await expect.poll(async () => Object.keys(await before.effects()).length).toBeGreaterThan(35);
  const operator = postgresOperator({ pool: before.pool });
  await expect.poll(async () => (await operator.deadLetters()).items.length).toBe(4);
  await worker.stop();
  // Not handled yet when the backup is taken.
  for (let n = 40; n < 80; n += 1) await before.send(n);
  const dump = join(first.folder, 'dump');
  await first.run('pg_dump', '-Fc', '-d', first.url, '-f', dump);
  await first.crash();

  const second = await privatePostgres();
  await second.run('pg_restore', '--no-owner', '-d', second.url, dump);
  const after = await openSteps(second.url, false);
  const again = await after.hf.start({ pollMs: 50 });
  const open = async (): Promise<number> =>
    Number((await after.pool.query('select count(*) from holdfast.delivery where state < 2')).rows[0]?.['count']);
  await expect.poll(open).toBe(0);
  const { items } = await postgresOperator({ pool: after.pool }).deadLetters();
  expect(items).toHaveLength(4);
  const wanted = Array.from({ length: 80 }, (_, n) => n).filter((n) => n >= 40 || n % 10 !== 9);
  expect(await after.effects()).toEqual(Object.fromEntries(wanted.map((n) => [n, 1])));
  // What is sent from now on comes after it, in the order of its key.
  await after.send(80);
  await expect.poll(async () => (await after.effects())[80]).toBe(1);
  await again.stop();
});
