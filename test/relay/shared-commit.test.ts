import { expect } from 'vitest';
import { event } from '../../src/index.ts';
import { needs } from '../support/needs.ts';
import { testService } from './service.ts';

const test = needs('postgres');
const placed = event<{ n: number }>('order.placed');

test('what a message of a shared commit forgot to await reaches no neighbour of it [X.3]', async ({ postgres }) => {
  const service = await testService(postgres);
  const { hf, schema } = service;
  const outcomes: string[] = [];
  const isNext = Promise.withResolvers<void>();
  let forgotten: Promise<unknown> | undefined;
  hf.project(placed, 'book', async ({ n }, tx) => {
    const insert = (): Promise<unknown> => tx.query(`insert into "${schema}".effect values ('x', $1)`, [n]);
    if (n === 1) {
      await insert();
      const late = async (text: string): Promise<unknown> =>
        tx.query(text).then(
          () => outcomes.push(`${text}: done`),
          (error: { code: string }) => outcomes.push(`${text}: ${error.code}`),
        );
      forgotten ??= isNext.promise.then(() => late('begin')).then(async () => late('rollback'));
      return;
    }
    isNext.resolve();
    await insert();
    await forgotten;
  });
  await service.inTransaction(async (tx) => {
    for (const n of [1, 2]) await hf.send(tx, placed, { n });
  });
  await service.start();
  await expect.poll(() => service.column('select count(*)::int from $.delivered')).toEqual([2]);
  expect(outcomes).toEqual(['begin: TRANSACTION_NOT_OPEN', 'rollback: TRANSACTION_NOT_OPEN']);
  expect(await service.column('select n from $.effect order by n')).toEqual([1, 2]);
});
