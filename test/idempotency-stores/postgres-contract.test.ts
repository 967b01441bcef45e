import { afterAll, describe, expect, test as plainTest } from 'vitest';
import type { ClaimAnswer } from '../../src/idempotency/idempotency-store.ts';
import { idempotencyContract, type IdempotencyHarness } from '../../src/testing/index.ts';
import { needs, type TestServer } from '../support/needs.ts';
import { startPgbouncer } from '../support/pgbouncer.ts';
import { newClaim } from './new-claim.ts';
import {
  heirOf,
  openPg,
  openPglite,
  SERVER_CLIENTS,
  sharedPlace,
  sharedStore,
  type StoreUnderTest,
} from './postgres-stores.ts';

const cases = idempotencyContract();

async function emptied(under: StoreUnderTest): Promise<IdempotencyHarness> {
  await under.column('delete from $.idempotency');
  return under;
}

describe('idempotency records in PGlite', () => {
  const shared = sharedStore(openPglite);
  plainTest.for(cases)('$name [S0.4]', async ({ run }) => {
    await expect(run(await emptied(await shared()))).resolves.toBeUndefined();
  });
});

for (const { client, open } of SERVER_CLIENTS) {
  describe(`idempotency records in PostgreSQL through ${client}`, () => {
    const test = needs('postgres');
    const shared = sharedStore(async (server: TestServer) => open(await sharedPlace(server)));
    for (const { name, run } of cases) {
      test(`${name} [S0.4]`, async ({ postgres: server }) => {
        await expect(run(await emptied(await shared(server)))).resolves.toBeUndefined();
      });
    }
  });
}

describe('idempotency records in PostgreSQL behind a pooler in transaction mode', () => {
  const test = needs('postgres', 'pgbouncer');
  let running: Awaited<ReturnType<typeof startPgbouncer>> | undefined;
  afterAll(() => running?.stop());
  const shared = sharedStore(async (server: TestServer, program: TestServer) => {
    const { schema } = await sharedPlace(server);
    running = await startPgbouncer(program.url, server.url);
    return openPg({ url: running.url, schema }, { max: 60 });
  });
  for (const { name, run } of cases) {
    test(`${name} [S0.4]`, async ({ postgres: server, pgbouncer }) => {
      await expect(run(await emptied(await shared(server, pgbouncer)))).resolves.toBeUndefined();
    });
  }

  test('of 200 claims of one key at once, one is let in [S1.1]', async ({ postgres: server, pgbouncer }) => {
    const { store } = await shared(server, pgbouncer);
    const claim = newClaim();
    const answers = await Promise.all(
      Array.from({ length: 200 }, (): Promise<ClaimAnswer> => store.claim(heirOf(claim))),
    );
    expect(answers.filter(({ kind }) => kind === 'claimed')).toHaveLength(1);
    expect(answers.filter(({ kind }) => kind === 'running')).toHaveLength(199);
  });

  test('commits keep their effects with their replies, those that fail neither [S1.1]', async ({
    postgres: server,
    pgbouncer,
  }) => {
    const { store, effect, effects } = await shared(server, pgbouncer);
    const claims = Array.from({ length: 60 }, () => newClaim());
    const commits = claims.map(async (claim, n) => {
      await store.claim(claim);
      return store.commit(claim, async (tx) => {
        await effect(tx, claim.id);
        if (n % 2 === 1) throw new Error('no');
        return { value: n, end: { kind: 'finish', status: 'completed', reply: { head: '{}', body: undefined } } };
      });
    });
    const kept = (await Promise.allSettled(commits)).map(({ status }) => status === 'fulfilled');
    expect(kept).toEqual(claims.map((_, n) => n % 2 === 0));
    const found = await Promise.all(
      claims.map(async ({ id }) => [(await store.find(id))?.status, await effects(id)] as const),
    );
    expect(found).toEqual(claims.map((_, n) => (n % 2 === 0 ? ['completed', 1] : ['processing', 0])));
  });
});
