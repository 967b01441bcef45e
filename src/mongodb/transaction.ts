import type { ClientSession, Db, MongoClient, MongoError, TransactionOptions } from 'mongodb';
import { HoldfastError, isHoldfastError } from '../kernel/error.ts';
import { createSleep } from '../kernel/sleep.ts';
import { systemEffects } from '../system/effects.ts';
import { answered } from './answered.ts';
import { guardSession } from './guarded-session.ts';

/** One state of the data throughout, and what is committed is on the disks of a majority. */
const SAFELY: TransactionOptions = {
  readPreference: 'primary',
  readConcern: { level: 'snapshot' },
  writeConcern: { w: 'majority', j: true },
};

/** An election takes twelve seconds; after so long the work is not run again, and a commit not asked for any more. */
const PATIENCE_MS = 60_000;
const FIRST_WAIT_MS = 5;
const LONGEST_WAIT_MS = 500;
/** What is only a courtesy to the server is not waited for any longer. */
const GOODBYE_MS = 2_000;

/** Its answer was lost or did not come, and was not to be had within a minute: whether it was committed is not known. */
export class CommitUnknown extends Error {
  override readonly name = 'CommitUnknown';
}

const sleep = createSleep(systemEffects);

/**
 * Runs work in a transaction of its own session and commits it. The work is run again where the server has rolled it back without any
 * fault of its own (a conflict, a lost connection, another primary), for up to a minute. Rejects with what the work threw, rolled
 * back; with `CommitUnknown`; or with `TRANSACTION_ENDED` when the work has committed or rolled back by itself.
 *
 * Not the driver's `withTransaction`: when a server goes away, the driver (7.8) marks the errors of the first connection to it only,
 * and hands on those of the others as if they were the work's, also where the commit was under way.
 */
export async function inTransaction<T>(client: MongoClient, work: (session: ClientSession) => Promise<T>): Promise<T> {
  const beganMs = systemEffects.monoMs();
  for (let tries = 1; ; tries++) {
    try {
      return await once(client, work);
    } catch (error) {
      if (!isRolledBack(error) || systemEffects.monoMs() - beganMs > PATIENCE_MS) throw error;
      const longest = Math.min(FIRST_WAIT_MS * 2 ** tries, LONGEST_WAIT_MS);
      // Two that met once would meet again.
      await sleep(longest * systemEffects.random());
    }
  }
}

/**
 * The same with an effect, which is foreign code, and then `complete` in the same transaction, which is ours. The session of the effect
 * refuses what would end its transaction with `TRANSACTION_CONTROL`, and is dead once the effect has ended, however it ended.
 */
export function withEffect<R, T>(
  client: MongoClient,
  effect: (session: ClientSession) => Promise<R>,
  complete: (session: ClientSession, result: R) => Promise<T>,
): Promise<T> {
  return inTransaction(client, async (session) => {
    const guarded = guardSession(session);
    let result: R;
    try {
      result = await effect(guarded.session);
    } finally {
      guarded.close();
    }
    if (!session.inTransaction()) throw new HoldfastError('TRANSACTION_ENDED', {});
    return complete(session, result);
  });
}

/** In a session of its own: one whose rollback is not answered cannot begin anything else. */
async function once<T>(client: MongoClient, work: (session: ClientSession) => Promise<T>): Promise<T> {
  const session = client.startSession();
  try {
    session.startTransaction(SAFELY);
    const value = await work(session);
    if (!session.inTransaction()) throw new HoldfastError('TRANSACTION_ENDED', {});
    await commit(session);
    return value;
  } finally {
    // Rolls back what was not committed.
    await goodbye(session.endSession());
  }
}

/** A commit may be said again: the server knows whether it has done it. */
async function commit(session: ClientSession): Promise<void> {
  const beganMs = systemEffects.monoMs();
  for (;;) {
    try {
      await answered(systemEffects, session.commitTransaction());
      return;
    } catch (error) {
      // Asked again it would stand behind the first question, which nobody answers.
      if (isHoldfastError(error, 'DATABASE_TIMEOUT'))
        throw new CommitUnknown('the answer to a commit did not come', { cause: error });
      if (isDecided(error)) throw error;
      if (systemEffects.monoMs() - beganMs > PATIENCE_MS)
        throw new CommitUnknown('the answer to a commit was lost', { cause: error });
      await sleep(LONGEST_WAIT_MS * systemEffects.random());
    }
  }
}

/** The server said no. What has no labels is no error of the server's, as when the driver stumbles over one of a socket: it tells nothing. */
function isDecided(error: unknown): boolean {
  const isServers = typeof (error as Partial<MongoError> | undefined)?.hasErrorLabel === 'function';
  return isServers && !hasLabel(error, 'UnknownTransactionCommitResult') && !isConnectionLost(error);
}

async function goodbye(work: Promise<unknown>): Promise<void> {
  await answered(systemEffects, work, GOODBYE_MS).catch(() => undefined);
}

function isRolledBack(error: unknown): boolean {
  return hasLabel(error, 'TransientTransactionError') || isConnectionLost(error);
}

/** True when the server could not be reached, or the way to it was lost. What writes many at once has that error inside of its own. */
function isConnectionLost(error: unknown): boolean {
  const { name, errorResponse } = (error ?? {}) as { name?: unknown; errorResponse?: { name?: unknown } };
  return [name, errorResponse?.name].some((one) => typeof one === 'string' && LOST.has(one));
}

const LOST = new Set([
  'MongoNetworkError',
  'MongoNetworkTimeoutError',
  'MongoPoolClearedError',
  'PoolClearedOnNetworkError',
  'MongoServerSelectionError',
]);

function hasLabel(error: unknown, label: string): boolean {
  const { hasErrorLabel } = (error ?? {}) as { hasErrorLabel?: (label: string) => boolean };
  return typeof hasErrorLabel === 'function' && hasErrorLabel.call(error, label);
}

/** Looks once whether the server has transactions. Throws `MONGODB_TRANSACTIONS_MISSING`. */
export function transactionsOf(db: Db, of: string): () => Promise<void> {
  let isKnown = false;
  return async () => {
    if (isKnown) return;
    const hello = await answered(systemEffects, db.admin().command({ hello: 1 }));
    const has = hello['setName'] !== undefined || hello['msg'] === 'isdbgrid';
    if (!has) throw new HoldfastError('MONGODB_TRANSACTIONS_MISSING', { of });
    isKnown = true;
  };
}
