import type { Collection, CollectionOptions, Db, Document } from 'mongodb';
import type { OptionCheck } from '../kernel/check-options.ts';

/**
 * What every step of ours asks of the server: nothing is believed before a majority has it on disk, and nothing is read that could be
 * rolled back. An application may have set other things on its client.
 */
const SAFELY: CollectionOptions = {
  readPreference: 'primary',
  readConcern: { level: 'majority' },
  writeConcern: { w: 'majority', j: true },
  promoteValues: true,
  promoteLongs: true,
  promoteBuffers: true,
  useBigInt64: false,
};

/** A collection of ours. Inside a transaction, its session decides about concerns. */
export function ownCollection<Row extends Document>(db: Db, name: string): Collection<Row> {
  return db.collection<Row>(name, SAFELY);
}

/** Refuses what is no database of the driver. */
export function checkDb(check: OptionCheck, db: unknown): void {
  const isDb =
    typeof (db as Partial<Db> | undefined)?.collection === 'function' &&
    typeof (db as Partial<Db>).client?.startSession === 'function';
  if (!isDb) check.refuse('db', db, "pass a database of the driver, client.db('shop')");
}

/** Refuses what is no name of a service. */
export function checkService(check: OptionCheck, service: unknown): void {
  const fits = typeof service === 'string' && /^\S{1,100}$/.test(service);
  if (!fits) check.refuse('service', service, "write the name of this service without spaces, for example 'orders'");
}

/** Refuses what cannot be the name of a collection. */
export function checkCollection(check: OptionCheck, option: string, name: unknown): void {
  const fits = typeof name === 'string' && /^[a-z_][\w.-]{0,99}$/i.test(name) && !name.startsWith('system.');
  if (!fits) check.refuseName(option, name, 'write letters, digits and _ . -, at most 100');
}

/** Runs something before the first use, and again at the next when it failed. */
export function before(prepare: () => Promise<unknown>): () => Promise<void> {
  let done: Promise<unknown> | undefined;
  return async () => {
    done ??= prepare();
    try {
      await done;
    } catch (error) {
      done = undefined;
      throw error;
    }
  };
}
