import { describe, expect, test } from 'vitest';
import { checkAgainstRules, idempotencyContract, type IdempotencyHarness } from '../../src/testing/index.ts';
import { SeededRandom } from '../simulation/seeded-random.ts';
import { BROKEN_RULES, BROKEN_STORES } from './broken-stores.ts';
import { rulesStore } from './rules-store.ts';

const cases = idempotencyContract();
const broken: readonly (readonly [string, () => IdempotencyHarness])[] = [
  ...Object.entries(BROKEN_RULES).map(([name, rules]) => [name, () => rulesStore(rules)] as const),
  ...Object.entries(BROKEN_STORES),
];

/** By case, the stores it has found out. */
const found = new Map<string, string[]>(cases.map(({ name }) => [name, []]));

async function findOut(store: string, open: () => IdempotencyHarness): Promise<number> {
  let count = 0;
  for (const { name, run } of cases) {
    await run(open()).catch(() => {
      found.get(name)?.push(store);
      count += 1;
    });
  }
  return count;
}

async function isFoundByChance(open: () => IdempotencyHarness): Promise<boolean> {
  for (let seed = 1; seed <= 300; seed++) {
    const random = new SeededRandom(seed);
    const isFound = await checkAgainstRules(open(), { random: () => random.next() }).then(
      () => false,
      () => true,
    );
    if (isFound) return true;
  }
  return false;
}

describe('the contract of idempotency stores', () => {
  test.for(broken)('finds out a store that %s [X.13]', async ([store, open]) => {
    expect(await findOut(store, open)).toBeGreaterThan(0);
  });

  test('has no case that finds out nobody, and nothing to say against the rules themselves [X.13]', async () => {
    expect([...found].flatMap(([name, stores]) => (stores.length === 0 ? [name] : []))).toEqual([]);
    expect(await findOut('the rules', rulesStore)).toBe(0);
  });
});

describe('random steps against the rules', () => {
  test.for(Object.entries(BROKEN_RULES))('find out a store that %s [X.13]', async ([, rules]) => {
    expect(await isFoundByChance(() => rulesStore(rules))).toBe(true);
  });
});
