import { Redis } from 'ioredis';
import { MongoClient } from 'mongodb';
import { describe, expect, onTestFinished } from 'vitest';
import { layered } from '../../src/idempotency/index.ts';
import { mongoIdempotency } from '../../src/mongodb/index.ts';
import { redisReplyCache } from '../../src/redis/index.ts';
import { FINISH, newClaim, rivalOf } from '../idempotency-stores/new-claim.ts';
import { freePort } from '../support/private-server.ts';
import { needs, type TestServer } from '../support/needs.ts';
import { privateMongodb } from './private-mongodb.ts';

const test = needs('mongodb');

function open(url: string, name: string) {
  const client = new MongoClient(url);
  onTestFinished(() => client.close());
  const db = client.db(name);
  const store = mongoIdempotency({ db });
  const effects = db.collection<{ _id: string }>('effects');
  return { client, db, store, effects };
}

const opened = ({ url, namespace }: TestServer) => open(url, namespace);

describe('a commit in MongoDB', () => {
  test('keeps the effect with the reply, and neither when the work throws [S1.3]', async ({ mongodb }) => {
    const { store, effects } = opened(mongodb);
    const [kept, failed] = [newClaim(), newClaim()];
    for (const claim of [kept, failed]) await store.claim(claim);
    const outcome = await store.commit(kept, async (session) => {
      await effects.insertOne({ _id: kept.id }, { session });
      return { value: 7, end: FINISH };
    });
    const work = store.commit(failed, async (session) => {
      await effects.insertOne({ _id: failed.id }, { session });
      throw new Error('no');
    });
    await expect(work).rejects.toThrow('no');
    expect(outcome).toEqual({ kind: 'ended', value: 7 });
    expect(await store.find(kept.id)).toMatchObject({ status: 'completed', reply: { head: '{"status":201}' } });
    expect(await store.find(failed.id)).toMatchObject({ status: 'processing' });
    expect(await effects.countDocuments({ _id: kept.id })).toBe(1);
    expect(await effects.countDocuments({ _id: failed.id })).toBe(0);
  });

  test('of a run that was taken over, or has ended before, keeps no effect [S1.3]', async ({ mongodb }) => {
    const { store, effects } = opened(mongodb);
    const lost = newClaim({ leaseMs: 1 });
    await store.claim(lost);
    await expect.poll(() => store.claim(rivalOf(lost, { takeUnknown: true }))).toMatchObject({ kind: 'claimed' });
    const ended = newClaim();
    await store.claim(ended);
    await store.end(ended, FINISH);
    for (const claim of [lost, ended]) {
      const outcome = store.commit(claim, async (session) => {
        await effects.insertOne({ _id: claim.id }, { session });
        return { value: 1, end: FINISH };
      });
      await expect(outcome).resolves.toEqual({ kind: 'late' });
      expect(await effects.countDocuments({ _id: claim.id })).toBe(0);
    }
  });

  test('is made again when the lease was renewed meanwhile, and is kept once [S1.3]', async ({ mongodb }) => {
    const { store, effects } = opened(mongodb);
    const claim = newClaim();
    await store.claim(claim);
    let runs = 0;
    await store.commit(claim, async (session) => {
      await effects.insertOne({ _id: claim.id }, { session });
      if ((runs += 1) === 1) await store.renew(claim);
      return { value: 1, end: FINISH };
    });
    expect(runs).toBe(2);
    expect(await effects.countDocuments({ _id: claim.id })).toBe(1);
    expect(await store.find(claim.id)).toMatchObject({ status: 'completed' });
  });

  test('whose work ends the transaction by itself is refused before that happens [S1.3]', async ({ mongodb }) => {
    const { store } = opened(mongodb);
    const claim = newClaim();
    await store.claim(claim);
    const work = store.commit(claim, async (session) => {
      await session.abortTransaction();
      return { value: 1, end: FINISH };
    });
    await expect(work).rejects.toMatchObject({ code: 'TRANSACTION_CONTROL' });
    expect(await store.find(claim.id)).toMatchObject({ status: 'processing' });
  });
});

describe('records in MongoDB', () => {
  test('that have expired are removed by the server [S1.3]', async ({ mongodb }) => {
    const { store, db } = opened(mongodb);
    const claim = newClaim({ keepMs: 1 });
    await store.claim(claim);
    await expect
      .poll(() => db.collection<{ _id: string }>('idempotency_keys').countDocuments({ _id: claim.id }))
      .toBe(0);
  });

  test('answer for Redis while that is away [S1.3]', async ({ mongodb }) => {
    const { store: truth } = opened(mongodb);
    const client = new Redis({ port: await freePort(), lazyConnect: true, maxRetriesPerRequest: 0 });
    client.on('error', () => {});
    onTestFinished(() => client.disconnect());
    const store = layered({ cache: redisReplyCache({ client }), truth, cacheTimeoutMs: 100 });
    const claim = newClaim();
    expect(await store.claim(claim)).toEqual({ kind: 'claimed', run: 1 });
    expect(await store.end(claim, FINISH)).toBe('ended');
    expect(await store.claim(rivalOf(claim))).toMatchObject({ kind: 'finished', status: 'completed' });
  });

  needs('mongod')('outlive a server that is killed, all that were answered [S1.3]', async ({ mongod }) => {
    const server = await privateMongodb(mongod.url);
    const { store, effects } = open(server.url, 'killed');
    const claims = Array.from({ length: 40 }, () => newClaim());
    await Promise.all(claims.map((claim) => store.claim(claim)));
    await store.transaction((session) => effects.findOne({}, { session }));
    const commits = claims.map((claim) =>
      store.commit(claim, async (session) => {
        await effects.insertOne({ _id: claim.id }, { session });
        return { value: claim.id, end: FINISH };
      }),
    );
    await Promise.any(commits);
    await server.kill();
    await server.start();
    // Those that were under way find the server again and are made whole.
    const outcomes = await Promise.all(commits);
    expect(outcomes.filter(({ kind }) => kind === 'ended')).toHaveLength(40);
    expect(await effects.countDocuments()).toBe(40);
    const found = await Promise.all(claims.map(({ id }) => store.find(id)));
    expect(found.map((record) => record?.status)).toEqual(claims.map(() => 'completed'));
  });
});
