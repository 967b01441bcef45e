import type { ClientSession, Collection, Db, Document } from 'mongodb';
import type { AtomicIdempotencyStore, Claim, EndAnswer, RunEnd } from '../idempotency/idempotency-store.ts';
import { claimRecord, endRecord, liveRecord, shownRecord, type StoredRecord } from '../idempotency/record-rules.ts';
import { OptionCheck } from '../kernel/check-options.ts';
import { HoldfastError } from '../kernel/error.ts';
import { systemEffects } from '../system/effects.ts';
import { answered } from './answered.ts';
import { before, checkCollection, checkDb, ownCollection } from './collections.ts';
import type { MongoDatabase } from './mongo-database.ts';
import { type RecordDocument, SEEN, type SeenRecord, storedOf } from './record-document.ts';
import { claimPipeline, endPipeline, ERASE, ofPerson, renewable, renewPipeline } from './record-pipelines.ts';
import { CommitUnknown, transactionsOf, withEffect } from './transaction.ts';

/** What `mongoIdempotency` takes. */
export interface MongoIdempotencyOptions<Session> {
  /** A database of the driver; what it is reached by stays the application's. */
  readonly db: MongoDatabase<Session>;
  /** Where the records are. Default `idempotency_keys`. Its indexes are made before the first step. */
  readonly collection?: string | undefined;
}

/**
 * Idempotency records in MongoDB (4.4 or later; proven on 6.0): each step is one update, by the clock of the server, that a majority
 * has on disk when it is answered. The server removes what has expired. Where it is a replica set, runs can be ended in the same
 * transaction as the application's data; on a single server `commit` and `transaction` throw `MONGODB_TRANSACTIONS_MISSING`.
 */
export function mongoIdempotency<Session>(options: MongoIdempotencyOptions<Session>): AtomicIdempotencyStore<Session> {
  const check = new OptionCheck('mongoIdempotency()');
  if (!check.object('options', options, 'pass { db }')) check.done();
  const { collection = 'idempotency_keys' } = options;
  const db = options.db as unknown as Db;
  check.known(options, ['db', 'collection']);
  checkDb(check, db);
  checkCollection(check, 'collection', collection);
  check.done();
  const records = ownCollection<RecordDocument>(db, collection);
  const ready = before(() => makeIndexes(records));
  const canCommit = transactionsOf(db, 'mongoIdempotency()');
  const store: AtomicIdempotencyStore<ClientSession> = {
    async claim(claim) {
      await ready();
      const { record, now } = await step(records, claim.id, claimPipeline(claim), { upsert: true });
      return claimRecord(record, claim, now).answer;
    },
    async renew(claim) {
      await ready();
      const { matchedCount } = await records.updateOne(renewable(claim), renewPipeline(claim));
      return matchedCount === 1;
    },
    async end(claim, end) {
      await ready();
      return (await endOf(records, claim, end)).answer;
    },
    async find(id) {
      await ready();
      const found = await records.findOne<SeenRecord>({ _id: id }, { projection: SEEN });
      if (!found) return undefined;
      const now = found.now.getTime();
      const live = liveRecord(storedOf(found), now);
      return live && shownRecord(live, now);
    },
    async erase(person) {
      await ready();
      const { modifiedCount } = await records.updateMany(ofPerson(person, 'live'), ERASE);
      // What has expired and is not removed yet is forgotten too, and not counted.
      await records.updateMany(ofPerson(person, 'all'), ERASE);
      return modifiedCount;
    },
    // The server removes what has expired by itself.
    reap: async () => 0,
    async commit(claim, work) {
      await ready();
      await canCommit();
      return commitWork(db, records, claim, work);
    },
    async transaction(work) {
      await canCommit();
      return withEffect(db.client, work, async (_, value) => value);
    },
  };
  // The sessions are those of the client that was handed in.
  return store as unknown as AtomicIdempotencyStore<Session>;
}

/** Ends a transaction whose run is no longer its owner's. Never leaves this file. */
class Late extends Error {}

async function commitWork<T>(
  db: Db,
  records: Collection<RecordDocument>,
  claim: Claim,
  work: (session: ClientSession) => Promise<{ readonly value: T; readonly end: RunEnd }>,
): Promise<{ readonly kind: 'ended'; readonly value: T } | { readonly kind: 'late' }> {
  const beganMs = systemEffects.monoMs();
  try {
    const value = await withEffect(db.client, work, async (session, done) => {
      // As the last step: a renewal in between makes the server refuse it, and the work is run again.
      const { answer, isRepeated } = await answered(systemEffects, endOf(records, claim, done.end, session));
      // Nor may it have ended before under the same owner: what belongs to that end is committed.
      if (answer === 'late' || isRepeated) throw new Late();
      return done.value;
    });
    return { kind: 'ended', value };
  } catch (error) {
    if (error instanceof Late) return { kind: 'late' };
    if (!(error instanceof CommitUnknown)) throw error;
    const waitedMs = Math.round(systemEffects.monoMs() - beganMs);
    throw new HoldfastError('IDEMPOTENCY_COMMIT_UNKNOWN', { domain: claim.domain, waitedMs }, { cause: error });
  }
}

async function endOf(
  records: Collection<RecordDocument>,
  claim: Claim,
  end: RunEnd,
  session?: ClientSession,
): Promise<{ readonly answer: EndAnswer; readonly isRepeated: boolean }> {
  const upsert = end.kind !== 'release';
  const { record, now } = await step(records, claim.id, endPipeline(claim, end), {
    upsert,
    ...(session && { session }),
  });
  const live = liveRecord(record, now);
  const isRepeated = live !== undefined && live.status !== 'processing';
  return { answer: endRecord(record, claim, end, now).answer, isRepeated };
}

/** Changes a record. Gives what it was before, and when; where there was none, the time does not matter. */
async function step(
  records: Collection<RecordDocument>,
  id: string,
  pipeline: Document[],
  options: { readonly upsert: boolean; readonly session?: ClientSession },
): Promise<{ readonly record: StoredRecord | undefined; readonly now: number }> {
  for (;;) {
    try {
      const found = await records.findOneAndUpdate({ _id: id }, pipeline, {
        ...options,
        projection: SEEN,
        returnDocument: 'before',
      });
      if (!found) return { record: undefined, now: 0 };
      const seen = found as unknown as SeenRecord;
      return { record: storedOf(seen), now: seen.now.getTime() };
    } catch (error) {
      // Another has made it in the same moment: now it is there. A transaction is over by that, and is run again as a whole.
      if (options.session || (error as { code?: unknown }).code !== DUPLICATE) throw error;
    }
  }
}

const DUPLICATE = 11_000;

async function makeIndexes(records: Collection<RecordDocument>): Promise<void> {
  await records.createIndexes([
    { name: 'holdfast_expires', key: { ttlAt: 1 }, expireAfterSeconds: 0 },
    { name: 'holdfast_person', key: { person: 1 }, partialFilterExpression: { person: { $type: 'string' } } },
  ]);
}
