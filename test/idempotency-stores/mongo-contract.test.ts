import { MongoClient } from 'mongodb';
import { afterAll, describe, expect } from 'vitest';
import { mongoIdempotency } from '../../src/mongodb/index.ts';
import { checkAgainstRules, idempotencyContract } from '../../src/testing/index.ts';
import { SeededRandom } from '../simulation/seeded-random.ts';
import { needs, type TestServer } from '../support/needs.ts';

const test = needs('mongodb');
let client: MongoClient | undefined;
afterAll(() => client?.close());

async function fresh({ url, namespace }: TestServer, collection: string) {
  client ??= new MongoClient(url);
  const db = client.db(namespace);
  const store = mongoIdempotency({ db, collection });
  return { db, store };
}

describe('idempotency records in MongoDB', () => {
  for (const { name, run } of idempotencyContract()) {
    test(`${name} [S1.3]`, async ({ mongodb }) => {
      const { store } = await fresh(mongodb, 'contract');
      await expect(run({ store })).resolves.toBeUndefined();
    });
  }

  test('a hundred random steps answer as the rules do, in MongoDB with 8 seeds [S1.3]', async ({ mongodb }) => {
    const { store } = await fresh(mongodb, 'random');
    const seeds = Array.from({ length: 8 }, (_, i) => i + 1);
    const runs = seeds.map((seed) => {
      const random = new SeededRandom(seed);
      return checkAgainstRules({ store }, { random: () => random.next() });
    });
    await expect(Promise.all(runs)).resolves.toHaveLength(8);
  });
});
