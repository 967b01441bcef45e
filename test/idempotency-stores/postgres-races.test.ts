import type { Client } from 'pg';
import { describe, expect, onTestFinished } from 'vitest';
import type { Claim, ClaimAnswer, RunEnd } from '../../src/idempotency/idempotency-store.ts';
import { endParams } from '../../src/postgres/idempotency/record-steps.ts';
import { idempotencyStatements, type IdempotencyStatements } from '../../src/postgres/idempotency/statements.ts';
import { connect, freshSchema } from '../postgres/support/fresh-schema.ts';
import { needs, type TestServer } from '../support/needs.ts';
import { newClaim } from './new-claim.ts';
import {
  heirOf,
  openPg,
  openPostgresJs,
  SERVER_CLIENTS,
  sharedPlace,
  type StoreUnderTest,
  withSetting,
} from './postgres-stores.ts';

const test = needs('postgres');
const DONE: RunEnd = { kind: 'finish', status: 'completed', reply: { head: '{}', body: Uint8Array.of(1, 2, 3) } };
const MANY = 200;

function kinds(answers: readonly ClaimAnswer[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { kind } of answers) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

/** All at once, half of them from another process's pool as it were. */
function rush(stores: readonly StoreUnderTest[], claim: Claim): Promise<ClaimAnswer[]> {
  const askers = Array.from({ length: MANY }, (_, n) => ({
    store: stores[n % stores.length]?.store,
    claim: heirOf(claim),
  }));
  return Promise.all(askers.map(({ store, claim: own }) => store?.claim(own) as Promise<ClaimAnswer>));
}

async function opened(open: () => Promise<StoreUnderTest>): Promise<StoreUnderTest> {
  const under = await open();
  onTestFinished(() => under.close());
  return under;
}

describe(`of ${MANY} claims of one key at once over two pools`, () => {
  const oneOf = { claimed: 1, running: MANY - 1 };
  for (const { client, open } of SERVER_CLIENTS) {
    test(`through ${client}, one is let in: a new key, an expired one, and one whose run was lost [S1.1]`, async ({
      postgres: server,
    }) => {
      const place = await sharedPlace(server);
      const stores = [await opened(() => open(place)), await opened(() => open(place))];
      expect(kinds(await rush(stores, newClaim()))).toEqual(oneOf);
      const { store } = stores[0] as StoreUnderTest;
      const expired = newClaim({ keepMs: 1 });
      await store.claim(expired);
      await expect.poll(() => store.find(expired.id)).toBeUndefined();
      expect(kinds(await rush(stores, { ...expired, keepMs: 60_000 }))).toEqual(oneOf);
      const abandoned = await lost(store);
      expect(kinds(await rush(stores, abandoned))).toEqual(oneOf);
    });
  }

  for (const isolation of ['repeatable read', 'serializable']) {
    test(`one is let in where transactions are ${isolation}, and no conflict is told to anybody [S1.1]`, async ({
      postgres: server,
    }) => {
      const place = await sharedPlace(server);
      const strict = { ...place, url: withSetting(place.url, 'default_transaction_isolation', isolation) };
      const stores = [await opened(() => openPg(strict)), await opened(() => openPostgresJs(strict))];
      const shown = await stores[0]?.column(`select current_setting('transaction_isolation')`);
      expect(shown).toEqual([isolation]);
      expect(kinds(await rush(stores, newClaim()))).toEqual(oneOf);
    });
  }
});

interface Stage extends StoreUnderTest {
  /** A second session, with a transaction open. */
  readonly other: Client;
  readonly statements: IdempotencyStatements;
  /** Until the other session is waited for, by that many. */
  waitedFor(sessions?: number): Promise<void>;
}

async function stage(server: TestServer): Promise<Stage> {
  const schema = await freshSchema(server);
  const under = await opened(() => openPg({ url: server.url, schema }));
  const [other, watch] = [await connect(server), await connect(server)];
  await other.query('begin');
  const { rows } = await other.query<{ pid: number }>('select pg_backend_pid() as pid');
  const waiting = `select from pg_stat_activity where ${rows[0]?.pid} = any (pg_blocking_pids(pid))`;
  return {
    ...under,
    other,
    statements: idempotencyStatements(`"${schema}"`),
    waitedFor: async (sessions = 1) => {
      await expect.poll(async () => (await watch.query(waiting)).rowCount).toBe(sessions);
    },
  };
}

/** A run whose lease is over. */
async function lost(store: StoreUnderTest['store']): Promise<Claim> {
  const claim = newClaim({ leaseMs: 1 });
  await store.claim(claim);
  await expect.poll(async () => (await store.find(claim.id))?.status).toBe('unknown');
  return claim;
}

function claimParams({ id, domain, person, fingerprint, owner, leaseMs, keepMs, takeUnknown }: Claim): unknown[] {
  return [id, domain, person, fingerprint, owner, leaseMs, keepMs, takeUnknown].map((param) => param && String(param));
}

describe('an end that is not committed yet', () => {
  test('lets those who ask in at once: they are told what is committed', async ({ postgres: server }) => {
    const on = await stage(server);
    const claim = newClaim();
    await on.store.claim(claim);
    await on.other.query(on.statements.end, [...endParams(claim, DONE)]);
    expect((await on.store.claim(heirOf(claim))).kind).toBe('running');
    expect((await on.store.find(claim.id))?.status).toBe('processing');
  });

  for (const { how, answer } of [
    { how: 'commit', answer: { kind: 'finished', status: 'completed' } },
    { how: 'rollback', answer: { kind: 'claimed', run: 2 } },
  ]) {
    test(`is waited for by whoever would take over, who goes by its ${how} [S1.1]`, async ({ postgres: server }) => {
      const on = await stage(server);
      const claim = await lost(on.store);
      await on.other.query(on.statements.end, [...endParams(claim, DONE)]);
      const heir = on.store.claim(heirOf(claim));
      await on.waitedFor();
      await on.other.query(how);
      expect(await heir).toMatchObject(answer);
    });

    test(`is waited for by an erasure, which goes by its ${how} [S0.4]`, async ({ postgres: server }) => {
      const on = await stage(server);
      const claim = newClaim();
      await on.store.claim(claim);
      await on.other.query(on.statements.end, [...endParams(claim, DONE)]);
      const erased = on.store.erase(claim.person ?? '');
      await on.waitedFor();
      await on.other.query(how);
      expect(await erased).toBe(1);
      if (how === 'rollback') await on.store.end(claim, DONE);
      expect(await on.store.find(claim.id)).toMatchObject({ status: 'completed', reply: null, person: null });
    });
  }

  test('of a release is waited for by whoever claims what is left, and is then the first', async ({
    postgres: server,
  }) => {
    const on = await stage(server);
    const claim = await lost(on.store);
    await on.other.query(on.statements.end, [...endParams(claim, { kind: 'release' })]);
    const heir = on.store.claim(heirOf(claim));
    await on.waitedFor();
    await on.other.query('commit');
    expect(await heir).toEqual({ kind: 'claimed', run: 1 });
  });
});

describe('a take-over that is not committed yet', () => {
  test('is waited for by the commit of the first owner, which is late then, and keeps nothing [S1.1]', async ({
    postgres: server,
  }) => {
    const on = await stage(server);
    const claim = await lost(on.store);
    await on.other.query(on.statements.claim, claimParams(heirOf(claim)));
    const committing = on.store.commit(claim, async (tx) => {
      await on.effect(tx, claim.id);
      return { value: 0, end: DONE };
    });
    await on.waitedFor();
    await on.other.query('commit');
    expect([await committing, await on.effects(claim.id)]).toEqual([{ kind: 'late' }, 0]);
  });

  test('is waited for by a renewal, which is refused then', async ({ postgres: server }) => {
    const on = await stage(server);
    const claim = await lost(on.store);
    await on.other.query(on.statements.claim, claimParams(heirOf(claim)));
    const renewed = on.store.renew(claim);
    await on.waitedFor();
    await on.other.query('commit');
    expect(await renewed).toBe(false);
  });

  test('does not undo an erasure that came in between [S0.4]', async ({ postgres: server }) => {
    const on = await stage(server);
    const claim = await lost(on.store);
    await on.other.query(on.statements.erase, [claim.person]);
    const heir = heirOf(claim);
    const claiming = on.store.claim(heir);
    await on.waitedFor();
    await on.other.query('commit');
    expect(await claiming).toEqual({ kind: 'claimed', run: 2 });
    await on.store.end(heir, DONE);
    expect((await on.store.find(claim.id))?.reply).toBeNull();
  });
});

describe('a first claim that is not committed yet', () => {
  test('is waited for by the others, who are in if it is rolled back, one of them [S1.1]', async ({
    postgres: server,
  }) => {
    const on = await stage(server);
    const claim = newClaim();
    await on.other.query(on.statements.claim, claimParams(claim));
    const claims = [heirOf(claim), heirOf(claim)].map((own) => on.store.claim(own));
    await on.waitedFor(2);
    await on.other.query('rollback');
    expect(kinds(await Promise.all(claims))).toEqual({ claimed: 1, running: 1 });
  });
});

describe('a lease', () => {
  for (const { step, take } of [
    { step: 'renewal', take: (on: Stage, claim: Claim) => on.store.renew(claim) },
    { step: 'take-over', take: (on: Stage, claim: Claim) => on.store.claim(heirOf(claim)) },
    {
      step: 'claim that is said again',
      take: (on: Stage, claim: Claim) => on.store.claim({ ...claim, leaseMs: 60_000 }),
    },
  ]) {
    test(`counts from when its ${step} is let in, not from when that had to wait`, async ({ postgres: server }) => {
      const on = await stage(server);
      const claim = { ...(await lost(on.store)), leaseMs: 60_000 };
      await on.other.query(`select from ${on.schema}.idempotency for update`);
      const taking = take(on, claim);
      await on.waitedFor();
      await on.other.query('select pg_sleep(0.1)');
      const { rows } = await on.other.query<{ at: string }>(
        `select date_trunc('milliseconds', clock_timestamp())::text as at`,
      );
      await on.other.query('commit');
      await taking;
      const counted = `select lease_until - interval '60 seconds' >= '${rows[0]?.at}' from $.idempotency`;
      expect(await on.column(counted)).toEqual([true]);
    });
  }
});

describe('clearing away', () => {
  async function expired(on: Stage, count: number): Promise<readonly Claim[]> {
    const claims = Array.from({ length: count }, () => newClaim({ keepMs: 1 }));
    for (const claim of claims) await on.store.claim(claim);
    await expect.poll(() => on.column('select 1 from $.idempotency where expires_at > now()')).toEqual([]);
    return claims;
  }

  test('passes by what is locked, and takes as many as it was asked for', async ({ postgres: server }) => {
    const on = await stage(server);
    const [first] = await expired(on, 5);
    await on.other.query(`select from ${on.schema}.idempotency where id = $1 for update`, [first?.id]);
    expect([await on.store.reap(3), await on.store.reap(3)]).toEqual([3, 1]);
    await on.other.query('commit');
    expect([await on.store.reap(3), await on.store.reap(3)]).toEqual([1, 0]);
  });

  test('at the same time by several takes each record once', async ({ postgres: server }) => {
    const on = await stage(server);
    await expired(on, 40);
    const counts = await Promise.all(Array.from({ length: 8 }, () => on.store.reap(10)));
    const rest = await on.store.reap(100);
    expect(counts.reduce((sum, count) => sum + count, rest)).toBe(40);
  });

  test('leaves alone what was claimed anew while it came', async ({ postgres: server }) => {
    const on = await stage(server);
    const [claim = newClaim()] = await expired(on, 1);
    await on.other.query('commit; begin');
    await on.other.query(on.statements.reap, ['10']);
    const anew = on.store.claim(heirOf(claim, { keepMs: 60_000 }));
    await on.waitedFor();
    await on.other.query('commit');
    expect(await anew).toEqual({ kind: 'claimed', run: 1 });
    expect([await on.store.reap(10), (await on.store.find(claim.id))?.status]).toEqual([0, 'processing']);
  });

  test('finds what was renewed when its new time is over, and not before', async ({ postgres: server }) => {
    const on = await stage(server);
    const claim = newClaim({ keepMs: 100 });
    await on.store.claim(claim);
    await on.store.renew({ ...claim, keepMs: 60_000 });
    await expect.poll(() => on.column('select 1 from $.idempotency where reap_at <= now()')).toHaveLength(1);
    expect(await on.store.reap(10)).toBe(0);
    await on.store.end({ ...claim, keepMs: 1 }, DONE);
    await expect.poll(() => on.store.reap(10)).toBe(1);
  });
});

describe('erasing a person', () => {
  test('several times at once erases each record once, and nobody is in another’s way [S0.4]', async ({
    postgres: server,
  }) => {
    const on = await stage(server);
    const person = 'somebody';
    const claims = Array.from({ length: 100 }, () => newClaim({ person }));
    await Promise.all(claims.map((claim) => on.store.end(claim, DONE)));
    const counts = await Promise.all(Array.from({ length: 8 }, () => on.store.erase(person)));
    expect(counts.reduce((sum, count) => sum + count)).toBe(100);
  });

  test('removes what was answered from the table itself, expired records included [S0.4]', async ({
    postgres: server,
  }) => {
    const on = await stage(server);
    const reply = { head: '{"told":"secret"}', body: new TextEncoder().encode('secret') };
    const [kept, gone] = [newClaim(), newClaim({ keepMs: 1 })];
    for (const claim of [kept, gone]) await on.store.end({ ...claim, person: 'somebody' }, { ...DONE, reply });
    await expect.poll(() => on.store.find(gone.id)).toBeUndefined();
    expect(await on.store.erase('somebody')).toBe(1);
    expect(
      await on.column('select 1 from $.idempotency where person is not null or head is not null or body is not null'),
    ).toEqual([]);
    expect(await on.column('select count(*)::int from $.idempotency')).toEqual([2]);
  });
});
