import { Pool } from 'pg';
import { describe, expect, onTestFinished } from 'vitest';
import type { Claim, RunEnd } from '../../src/idempotency/idempotency-store.ts';
import type { Effects } from '../../src/kernel/effects.ts';
import type { Driver } from '../../src/postgres/driver/driver.ts';
import { findDriver } from '../../src/postgres/driver/find-driver.ts';
import { idempotencyStatements } from '../../src/postgres/idempotency/statements.ts';
import { wasCommitted } from '../../src/postgres/idempotency/was-committed.ts';
import { systemEffects } from '../../src/system/effects.ts';
import { connect, freshSchema } from '../postgres/support/fresh-schema.ts';
import { postgresWire, type PostgresWire } from '../../src/testing/index.ts';
import { needs, type TestServer } from '../support/needs.ts';
import { newClaim } from './new-claim.ts';
import { heirOf, openPg, openPostgresJs, type Place, sharedPlace, type StoreUnderTest } from './postgres-stores.ts';

const test = needs('postgres');

const DONE: RunEnd = {
  kind: 'finish',
  status: 'completed',
  reply: { head: '{}', body: new TextEncoder().encode('done') },
};
const ENDS: readonly RunEnd[] = [DONE, { ...DONE, status: 'failed' }, { kind: 'doubt' }, { kind: 'release' }];
const ENDED = { kind: 'ended', value: 'worked' };
/** As both clients send it. */
const COMMIT = /^commit$/i;

type Open = (place: Place) => Promise<StoreUnderTest>;
const CLIENTS: readonly { readonly client: string; readonly open: Open }[] = [
  { client: 'pg', open: openPg },
  // What it has prepared before it sends by name.
  { client: 'postgres.js', open: (place) => openPostgresJs(place, { prepare: false }) },
];

interface Stage extends StoreUnderTest {
  readonly wire: PostgresWire;
  /** Claims something new. */
  begin(): Promise<Run>;
}

interface Run {
  readonly claim: Claim;
  /** Commits one effect with that end. */
  commit(end?: RunEnd): ReturnType<StoreUnderTest['store']['commit']>;
  effects(): Promise<number>;
  status(): Promise<string | undefined>;
}

async function stage(server: TestServer, open: Open, fresh?: string): Promise<Stage> {
  const { schema } = fresh === undefined ? await sharedPlace(server) : { schema: fresh };
  const wire = await postgresWire(server.url);
  onTestFinished(() => wire.close());
  const under = await open({ url: wire.url, schema });
  onTestFinished(() => under.close());
  const { store } = under;
  const begin = async (): Promise<Run> => {
    const claim = newClaim();
    await store.claim(claim);
    const commit: Run['commit'] = (end = DONE) =>
      store.commit(claim, async (tx) => {
        await under.effect(tx, claim.id);
        return { value: 'worked', end };
      });
    const status = async (): Promise<string | undefined> => (await store.find(claim.id))?.status;
    return { claim, commit, effects: () => under.effects(claim.id), status };
  };
  return { ...under, wire, begin };
}

interface Gate {
  /** How many sessions wait for a lock, of those. */
  count(which: string): Promise<number | null>;
  open(): Promise<unknown>;
}

/** Every COMMIT of an effect waits for it to be opened, and then does the rest. */
async function gateAt(server: TestServer, schema: string, rest = ''): Promise<Gate> {
  const keeper = await connect(server);
  const key = `hashtext('${schema}')`;
  await keeper.query(`create function ${schema}.wait() returns trigger language plpgsql as
    $$ begin perform pg_advisory_xact_lock(${key}); ${rest} return null; end $$`);
  await keeper.query(`create constraint trigger wait after insert on ${schema}.effect
    deferrable initially deferred for each row execute function ${schema}.wait()`);
  await keeper.query(`select pg_advisory_lock(${key})`);
  return {
    count: async (which) =>
      (await keeper.query(`select from pg_stat_activity where wait_event_type = 'Lock' and ${which}`)).rowCount,
    open: () => keeper.query(`select pg_advisory_unlock(${key})`),
  };
}

for (const { client, open } of CLIENTS) {
  describe(`a commit through ${client} whose connection is cut`, () => {
    test('after the server has committed, before it is told so, is known to be committed, whatever the end [S1.1]', async ({
      postgres: server,
    }) => {
      const { wire, begin } = await stage(server, open);
      for (const end of ENDS) {
        const { commit, effects, status } = await begin();
        const stopped = wire.stopAt(COMMIT, 'answered');
        const committing = commit(end);
        (await stopped).cut();
        expect(await committing).toEqual(ENDED);
        expect(await effects()).toBe(1);
        expect(await status()).toBe(
          end.kind === 'finish' ? end.status : { doubt: 'unknown', release: undefined }[end.kind],
        );
      }
    });

    test('before the server has read it is known not to be committed, and may be committed again, whatever the end [S1.1]', async ({
      postgres: server,
    }) => {
      const { wire, begin } = await stage(server, open);
      for (const end of ENDS) {
        const { commit, effects, status } = await begin();
        const stopped = wire.stopAt(COMMIT, 'unsent');
        const committing = commit(end);
        (await stopped).cut();
        await expect(committing).rejects.toThrow(/connection|ECONNRESET/i);
        expect([await effects(), await status()]).toEqual([0, 'processing']);
        expect(await commit(end)).toEqual(ENDED);
        expect(await effects()).toBe(1);
      }
    });

    for (const { becomes, isKept } of [
      { becomes: 'succeeds', isKept: true },
      { becomes: 'fails', isKept: false },
    ]) {
      test(`while the server is still at it is not answered before that is over: one that ${becomes} then`, async ({
        postgres: server,
      }) => {
        const schema = await freshSchema(server);
        const { wire, begin } = await stage(server, open, schema);
        const { commit, effects } = await begin();
        const gate = await gateAt(server, schema, isKept ? '' : `raise 'no';`);
        const stopped = wire.stopAt(COMMIT, 'sent');
        let isOver = false;
        const committing = commit().then(
          () => true,
          () => false,
        );
        void committing.then(() => (isOver = true));
        (await stopped).cut();
        // The commit waits at the gate, and whoever asks for its outcome waits for the commit.
        await expect.poll(() => gate.count(`query like '%"${schema}".idempotency%for share'`)).toBe(1);
        expect(isOver).toBe(false);
        await gate.open();
        expect([await committing, await effects()]).toEqual([isKept, isKept ? 1 : 0]);
      });
    }

    test('while the server is still at it, and whose record nobody else can see, is asked for until it is over', async ({
      postgres: server,
    }) => {
      const schema = await freshSchema(server);
      const { wire, begin, column } = await stage(server, open, schema);
      const { commit, effects, status } = await begin();
      await column('delete from $.idempotency');
      const gate = await gateAt(server, schema);
      const stopped = wire.stopAt(COMMIT, 'sent');
      const committing = commit();
      const caught = await stopped;
      const asked = wire.stopAt('pg_xact_status', 'passed');
      caught.cut();
      await asked;
      await wire.stopAt('pg_xact_status', 'passed');
      await gate.open();
      expect([await committing, await effects(), await status()]).toEqual([ENDED, 1, 'completed']);
    });

    test('in doubt and taken over before it is asked for is still known to be committed', async ({
      postgres: server,
    }) => {
      const { wire, begin, store } = await stage(server, open);
      const { claim, commit, effects } = await begin();
      const stopped = wire.stopAt(COMMIT, 'answered');
      const committing = commit({ kind: 'doubt' });
      const caught = await stopped;
      expect(await store.claim(heirOf(claim))).toEqual({ kind: 'claimed', run: 2 });
      caught.cut();
      expect(await committing).toEqual(ENDED);
      expect(await effects()).toBe(1);
    });

    test('in any step before keeps nothing, and its claim is as it was [S1.1]', async ({ postgres: server }) => {
      const { wire, begin } = await stage(server, open);
      for (const words of ['begin', 'insert into', 'idempotency_end']) {
        for (const point of ['unsent', 'answered'] as const) {
          const { commit, effects, status } = await begin();
          const stopped = wire.stopAt(words, point);
          const committing = commit();
          (await stopped).cut();
          await expect(committing, `${words}, ${point}`).rejects.toThrow(/connection|ECONNRESET/i);
          expect([await effects(), await status()]).toEqual([0, 'processing']);
        }
      }
    });
  });
}

describe('a commit whose connection is cut', () => {
  test('and whose server is gone for good is given up after half a minute, and said to be unknown', async () => {
    const pool = new Pool({ connectionString: 'postgres://nobody@127.0.0.1:1/none' });
    onTestFinished(() => pool.end());
    const effects = hastened(1_000);
    const driver = findDriver(pool, effects) as Driver<unknown>;
    const cause = new Error('connection lost');
    const parts = { driver, statements: idempotencyStatements('"holdfast"'), effects };
    const asking = wasCommitted(parts, newClaim(), '1', cause);
    await expect(asking).rejects.toMatchObject({
      code: 'IDEMPOTENCY_COMMIT_UNKNOWN',
      details: { domain: 'POST /orders' },
      cause,
    });
  });
});

/** The real clocks and timers, so many times as fast. */
function hastened(times: number): Effects {
  const { now, monoMs, setTimer } = systemEffects;
  return {
    ...systemEffects,
    now: () => ({ wallMs: now().wallMs, monoMs: now().monoMs * times }),
    monoMs: () => monoMs() * times,
    setTimer: (wake, ms) => setTimer(wake, ms / times),
  };
}
