import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished } from 'vitest';
import type { Claim } from '../../src/idempotency/idempotency-store.ts';
import { postgresWire, type WirePoint } from '../../src/testing/index.ts';
import { needs, type TestServer } from '../support/needs.ts';
import type { RunOptions } from './postgres-run-process.ts';
import { newClaim } from './new-claim.ts';
import { heirOf, openPg, sharedPlace, type StoreUnderTest } from './postgres-stores.ts';

const test = needs('postgres');
const PROGRAM = fileURLToPath(new URL('postgres-run-process.ts', import.meta.url));

/** All that a run says to the database, in its order. */
const STEPS: readonly string[] = ['idempotency_claim', 'begin', 'insert into', 'idempotency_end', 'commit'];
const POINTS: readonly WirePoint[] = ['unsent', 'answered'];

function start(options: RunOptions): ChildProcess {
  const child = spawn(process.execPath, [PROGRAM, JSON.stringify(options)], { stdio: ['ignore', 'ignore', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

/** What the next process does with the key: it replays, or waits for the lease to end and runs. */
async function goOn({ store, effect }: StoreUnderTest, claim: Claim): Promise<void> {
  const heir = heirOf(claim);
  await expect.poll(async () => (await store.claim(heir)).kind).toMatch(/claimed|finished/);
  if ((await store.claim(heir)).kind === 'finished') return;
  await store.commit(heir, async (tx) => {
    await effect(tx, claim.id);
    const reply = { head: '{}', body: new TextEncoder().encode('done') };
    return { value: undefined, end: { kind: 'finish', status: 'completed', reply } };
  });
}

async function killedAt(
  server: TestServer,
  client: RunOptions['client'],
  words: string,
  point: WirePoint,
): Promise<void> {
  const { url, schema } = await sharedPlace(server);
  const [wire, under] = [await postgresWire(url), await openPg({ url, schema })];
  onTestFinished(() => wire.close());
  onTestFinished(() => under.close());
  const claim = newClaim({ leaseMs: 200 });
  const stopped = wire.stopAt(words === 'commit' ? /^commit$/i : words, point);
  const child = start({ client, url: wire.url, schema, claim });
  const caught = await stopped;
  child.kill('SIGKILL');
  await once(child, 'exit');
  caught.cut();
  // Its session is over when nobody holds the record or the effect any more.
  const open = `select 1 from pg_stat_activity where state like 'idle in transaction%' and query like '%${schema}%'`;
  await expect.poll(() => under.column(open)).toEqual([]);
  const isKept = words === 'commit' && point === 'answered';
  const status = (await under.store.find(claim.id))?.status;
  expect([status === 'completed', await under.effects(claim.id)]).toEqual([isKept, isKept ? 1 : 0]);
  await goOn(under, claim);
  expect(await under.effects(claim.id)).toBe(1);
  const answer = await under.store.claim(heirOf(claim));
  expect(answer).toMatchObject({ kind: 'finished', reply: { body: new TextEncoder().encode('done') } });
}

describe.for(['pg', 'postgres.js'] as const)('a process over %s', (client) => {
  for (const words of STEPS) {
    for (const point of POINTS) {
      const where = point === 'unsent' ? 'before' : 'after';
      test(`killed ${where} "${words}" has kept both its effect and its reply or neither, and the next finishes it [S1.1]`, ({
        postgres: server,
      }) => killedAt(server, client, words, point));
    }
  }

  test('that is not killed keeps both, which shows that the others were stopped on their way [S1.1]', async ({
    postgres: server,
  }) => {
    const { url, schema } = await sharedPlace(server);
    const under = await openPg({ url, schema });
    onTestFinished(() => under.close());
    const claim = newClaim();
    const child = start({ client, url, schema, claim });
    await once(child, 'exit');
    expect([child.exitCode, (await under.store.find(claim.id))?.status, await under.effects(claim.id)]).toEqual([
      0,
      'completed',
      1,
    ]);
  });
});
