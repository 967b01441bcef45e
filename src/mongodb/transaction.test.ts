import type { ClientSession, MongoClient } from 'mongodb';
import { expect, test } from 'vitest';
import { inTransaction } from './transaction.ts';

/** A session whose commits end as told, one after the other. */
function sessionOf(commits: readonly (() => Promise<void>)[]): { readonly client: MongoClient; asked: () => number } {
  let asked = 0;
  const session = {
    startTransaction: () => undefined,
    inTransaction: () => true,
    commitTransaction: () => commits[asked++]?.() ?? Promise.resolve(),
    endSession: async () => undefined,
  } as unknown as ClientSession;
  return { client: { startSession: () => session } as unknown as MongoClient, asked: () => asked };
}

test('a commit that ends in an error which is none of the server’s is asked for again, and the work is not run twice [S1.5]', async () => {
  // The driver (7.8) stumbles over the bare error of a socket: what became of the commit it cannot tell.
  const { client, asked } = sessionOf([() => Promise.reject(new TypeError('error.hasErrorLabel is not a function'))]);
  let runs = 0;
  expect(await inTransaction(client, async () => (runs += 1))).toBe(1);
  expect([runs, asked()]).toEqual([1, 2]);
});

test('a commit that the server refuses is not asked for again [S1.5]', async () => {
  const refused = Object.assign(new Error('no such transaction'), { hasErrorLabel: () => false });
  const { client, asked } = sessionOf([() => Promise.reject(refused)]);
  await expect(inTransaction(client, async () => 1)).rejects.toBe(refused);
  expect(asked()).toBe(1);
});
