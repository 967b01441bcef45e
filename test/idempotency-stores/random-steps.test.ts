import { describe, expect, onTestFinished, test } from 'vitest';
import { redisIdempotency } from '../../src/redis/index.ts';
import { checkAgainstRules, type IdempotencyHarness } from '../../src/testing/index.ts';
import { replayCommand } from '../simulation/many-seeds.ts';
import { SeededRandom } from '../simulation/seeded-random.ts';
import { freshSchema } from '../postgres/support/fresh-schema.ts';
import { amount } from '../support/amount.ts';
import { needs } from '../support/needs.ts';
import { memoryHarness } from './memory-harness.ts';
import { openPg } from './postgres-stores.ts';
import { CONNECTED_CLIENTS } from './redis-clients.ts';

const FILE = 'test/idempotency-stores/random-steps.test.ts';
// Hundreds of short times are waited for.
const LONG = { timeout: 300_000 };
const GIVEN = process.env['HOLDFAST_SEED'];

/** Runs many seeds, so many at once, and expects that none finds a difference. */
async function expectNoDifference(
  count: number,
  atOnce: number,
  open: (seed: number) => IdempotencyHarness | Promise<IdempotencyHarness>,
): Promise<void> {
  const left = GIVEN === undefined ? Array.from({ length: count }, (_, i) => i + 1) : [Number(GIVEN)];
  const differences: string[] = [];
  const work = async (): Promise<void> => {
    for (let seed = left.shift(); seed !== undefined && differences.length < 3; seed = left.shift()) {
      const random = new SeededRandom(seed);
      const run = checkAgainstRules(await open(seed), { random: () => random.next() });
      await run.catch((error: unknown) => differences.push(`${replayCommand(FILE, seed ?? 0)}\n${String(error)}`));
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  expect(differences.join('\n\n')).toBe('');
}

describe('a hundred random steps answer as the rules do', () => {
  test('in memory, with 1000 seeds [S1.3]', LONG, async () => {
    await expectNoDifference(1_000, 1, memoryHarness);
  });

  needs('postgres')('in PostgreSQL, with many seeds [S0.4]', LONG, async ({ postgres: server }) => {
    // A schema for each: clearing away would meet what others have left.
    await expectNoDifference(amount(12, 30), 10, async () => {
      const under = await openPg({ url: server.url, schema: await freshSchema(server) }, { max: 1 });
      onTestFinished(() => under.close());
      return under;
    });
  });

  for (const [name, open] of CONNECTED_CLIENTS) {
    needs('redis')(`in Redis through ${name}, with 100 seeds [S1.3]`, LONG, async ({ redis: { url, namespace } }) => {
      const { client } = await open(url);
      await expectNoDifference(100, 25, (seed) => ({
        store: redisIdempotency({ client, prefix: `${namespace}:${name}${seed}:` }),
      }));
    });
  }
});
