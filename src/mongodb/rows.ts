import type { ClientSession, Collection, Db, Document, Filter, FindCursor, IndexDescription, WithId } from 'mongodb';
import type { Effects } from '../kernel/effects.ts';
import type { Settlement } from '../relay/relay-store.ts';
import { BATCH_BYTES, BatchLimit } from '../transport/batch-limit.ts';
import { answered } from './answered.ts';
import { ownCollection } from './collections.ts';
import type { HeldLease } from './lease.ts';
import { readRow, type Row, type RowState, type StoredRow } from './row.ts';
import { inTransaction } from './transaction.ts';

/** What rows are kept by. */
export interface RowsParts<R extends Row> {
  readonly db: Db;
  readonly collection: string;
  readonly service: string;
  readonly effects: Effects;
  /** Where it is written too when a row is done. */
  readonly doneAt: readonly (keyof R & string)[];
  /** What a row does not need any more once it has ended. */
  readonly dropped?: Partial<R>;
  /** What else is written when one is dead. */
  readonly whenDead?: Partial<R>;
  /** Others are left alone for now. Default: none are. */
  readonly types?: () => readonly string[];
  /** How long ended rows are kept. */
  readonly keepMs: number;
  readonly indexes?: readonly IndexDescription[];
}

/** What can be begun now, in the order of their places. */
export interface ReadRows<R> {
  readonly rows: readonly R[];
  /** Until the next that waits is due, beyond those in `rows`. */
  readonly nextDueInMs: number | undefined;
}

/** What is being worked on, and must not be read again. */
export interface BusyRows {
  readonly ids: readonly string[];
  readonly keys: readonly string[];
}

interface Holder {
  readonly _id: string;
  readonly key: string | null;
  readonly leftMs: number | null;
}

const INDEX_DIFFERS = 85;
const MOST_CHARACTERS = 16_777_216;
/** In one answer of the server once reading was late: it fills an answer up to 16 MB otherwise, whatever is taken of it. */
const MOST_IN_ANSWER = 32;
/** Of keys in a query, with what each takes besides its letters; a letter is up to three bytes. */
const MOST_NAMED = 4_000_000;
const KEY_CHARACTERS = 16;
const OPEN: readonly RowState[] = ['open', 'waiting'];

/** The messages of one service in one collection. */
export class Rows<R extends Row> {
  readonly collection: Collection<StoredRow>;
  readonly #parts: RowsParts<R>;
  /** What was late is read again in halves: over a slow link the same rows would be late for ever. */
  readonly #limit: BatchLimit;

  constructor(parts: RowsParts<R>) {
    this.#parts = parts;
    this.#limit = new BatchLimit(parts.effects);
    this.collection = ownCollection<StoredRow>(parts.db, parts.collection);
  }

  async prepare(): Promise<void> {
    const { db, collection, keepMs, indexes = [] } = this.#parts;
    await this.collection.createIndexes([
      // With the id, so that operators can page through rows of one place.
      { name: 'holdfast_line', key: { service: 1, state: 1, seq: 1, _id: 1 } },
      {
        name: 'holdfast_key',
        key: { service: 1, key: 1, state: 1, seq: 1 },
        partialFilterExpression: { key: { $type: 'string' } },
      },
      ...indexes,
    ]);
    const [name, expireAfterSeconds] = ['holdfast_ended', Math.ceil(keepMs / 1000)];
    try {
      await this.collection.createIndex({ endedAt: 1 }, { name, expireAfterSeconds });
    } catch (error) {
      // It is there with another time.
      if ((error as { code?: unknown }).code !== INDEX_DIFFERS) throw error;
      await db.command({ collMod: collection, index: { name, expireAfterSeconds } });
    }
  }

  /**
   * Up to `limit` rows that may be begun. No cursor is kept: what commits late has a place before others that have gone, and is found
   * because it is open. Of a key that waits, or has a dead one, nothing is given but what is due itself; of a key with one that is
   * left alone, nothing behind that.
   */
  async read(limit: number, busy: BusyRows = { ids: [], keys: [] }): Promise<ReadRows<R>> {
    const { effects } = this.#parts;
    const holders = await answered(effects, this.#holders());
    const due = dueOf(holders, busy).slice(0, limit);
    const waited = due.length > 0 ? await this.#limit.carry(() => answered(effects, this.#waited(due, limit))) : [];
    // What is due and too much for now holds its key as if it were not due.
    const given = new Set(waited.map(({ _id: id }) => id));
    const held = new Set(busy.keys);
    for (const { _id: id, key } of holders) if (key !== null && !given.has(id)) held.add(key);
    const open = await this.#limit.carry(() => answered(effects, this.#open(limit, busy.ids, held)));
    const rows = [...waited, ...open].toSorted((a, b) => a.seq - b.seq).slice(0, limit);
    return { rows, nextDueInMs: nextDueIn(holders) };
  }

  /** Writes that rows have ended well. Needs no lease: it is true whoever says it. */
  async finish(ids: readonly string[]): Promise<void> {
    const { effects } = this.#parts;
    await answered(
      effects,
      this.collection.updateMany({ _id: { $in: [...ids] }, state: { $in: [...OPEN] } }, this.#end('done')),
    );
  }

  /** The same in a transaction. False: it has ended before, or was tried by another since it was read. */
  async finishIn(session: ClientSession, row: R): Promise<boolean> {
    const written = this.collection.updateOne(this.#asRead(row), this.#end('done'), { session });
    const { matchedCount } = await answered(this.#parts.effects, written);
    return matchedCount === 1;
  }

  /** Writes what follows a failure, if the lease is still held and the row is as it was read. */
  async fail(lease: HeldLease, row: R, settlement: Settlement, reason: string | null): Promise<boolean> {
    const { db, effects, whenDead } = this.#parts;
    const change = { ...failedChange(settlement, reason), ...(settlement.kind === 'dead' && whenDead) };
    const written = inTransaction(db.client, async (session) => {
      await lease.fence(session);
      const { matchedCount } = await this.collection.updateOne(this.#asRead(row), [{ $set: change }], { session });
      return matchedCount === 1;
    });
    return answered(effects, written);
  }

  /** Dead ones, the oldest first. */
  async dead(limit: number): Promise<readonly R[]> {
    const { service, effects } = this.#parts;
    const found = this.collection.find({ service, state: 'dead' }).sort({ seq: 1 }).limit(limit).toArray();
    return (await answered(effects, found)).map((row) => readRow(row) as R);
  }

  /** Lets a dead one be tried anew, at its place in line. False: it is not dead. */
  async replay(id: string): Promise<boolean> {
    const again = { state: 'open', attempts: 0, retry: null, dueAt: null, reason: null, deadAt: null };
    const change = [{ $set: { ...again, replays: { $add: ['$replays', 1] } } }];
    const { matchedCount } = await answered(this.#parts.effects, this.collection.updateOne(this.#dead(id), change));
    return matchedCount === 1;
  }

  /** Gives a dead one up; those behind it go on. False: it is not dead. */
  async discard(id: string): Promise<boolean> {
    const written = this.collection.updateOne(this.#dead(id), this.#end('discarded'));
    const { matchedCount } = await answered(this.#parts.effects, written);
    return matchedCount === 1;
  }

  #dead(id: string): Filter<StoredRow> {
    return { _id: id, service: this.#parts.service, state: 'dead' };
  }

  #asRead({ _id, attempts, replays }: R): Filter<StoredRow> {
    return { _id, state: { $in: [...OPEN] }, attempts, replays };
  }

  #end(state: 'done' | 'discarded'): Document[] {
    const { doneAt, dropped = {} } = this.#parts;
    const done = state === 'done' ? Object.fromEntries(doneAt.map((field) => [field, '$$NOW'])) : {};
    return [{ $set: { state, endedAt: '$$NOW', ...done, dueAt: null, retry: null, ...dropped } }];
  }

  #waited(due: readonly Holder[], limit: number): Promise<R[]> {
    return this.#upTo(this.collection.find({ _id: { $in: due.map(({ _id: id }) => id) }, state: 'waiting' }), limit);
  }

  /**
   * Open ones in the order of their places, without those of keys that are held. In a transaction, for one state of the data: a walk that
   * sees what is committed meanwhile would find a message and miss the one before it, whose place it has passed.
   */
  #open(limit: number, busyIds: readonly string[], held: ReadonlySet<string>): Promise<R[]> {
    const { db, service } = this.#parts;
    const types = this.#parts.types?.();
    // Not one query with those that waited: that would sort all that is open, and not walk along the index until there is enough.
    const wanted: Filter<StoredRow> = {
      service,
      state: 'open',
      _id: { $nin: [...busyIds] },
      key: { $nin: asManyAs(held) },
      // Of those that are left alone, the ones with a key are needed to know what stands behind them.
      ...(types && { $or: [{ eventType: { $in: [...types] } }, { key: { $ne: null } }] }),
    };
    return inTransaction(db.client, (session) => {
      const passed = new Set<string>();
      return this.#upTo(this.collection.find(wanted, { session }).sort({ seq: 1 }), limit, ({ key, eventType }) => {
        if (key !== null && (held.has(key) || passed.has(key))) return false;
        const isTaken = !types || types.includes(eventType);
        if (!isTaken && key !== null) passed.add(key);
        return isTaken;
      });
    });
  }

  /** Up to so many that fit, and no more than memory bears, or than was answered in time. What is left out comes with the next. */
  async #upTo(
    cursor: FindCursor<WithId<StoredRow>>,
    limit: number,
    fits: (row: StoredRow) => boolean = () => true,
  ): Promise<R[]> {
    const share = this.#limit.bytes / BATCH_BYTES;
    const count = Math.max(1, Math.floor(limit * share));
    const rows: R[] = [];
    let size = 0;
    for await (const stored of cursor.batchSize(share < 1 ? Math.max(1, Math.floor(MOST_IN_ANSWER * share)) : limit)) {
      if (!fits(stored)) continue;
      const row = readRow(stored) as R;
      rows.push(row);
      size += row.payload.length;
      if (rows.length === count || size > MOST_CHARACTERS * share) break;
    }
    return rows;
  }

  #holders(): Promise<Holder[]> {
    const { service } = this.#parts;
    // Of a dead one there is nothing to wait for.
    const leftMs = { $cond: [{ $eq: ['$state', 'dead'] }, null, { $subtract: ['$dueAt', '$$NOW'] }] };
    return this.collection
      .find<Holder>({ service, state: { $in: ['waiting', 'dead'] } }, { projection: { key: 1, leftMs } })
      .sort({ seq: 1 })
      .toArray();
  }
}

/** Those that are due and may be begun: of a key only the first, and none while it is busy. */
function dueOf(holders: readonly Holder[], busy: BusyRows): Holder[] {
  const [ids, keys] = [new Set(busy.ids), new Set<string | null>(busy.keys)];
  return holders.filter(({ _id: id, key, leftMs }) => {
    const isFirst = key === null || !keys.has(key);
    if (key !== null) keys.add(key);
    return isFirst && leftMs !== null && leftMs <= 0 && !ids.has(id);
  });
}

function nextDueIn(holders: readonly Holder[]): number | undefined {
  let next: number | undefined;
  for (const { leftMs } of holders) if (leftMs !== null && leftMs > 0) next = Math.min(next ?? leftMs, leftMs);
  return next;
}

/** As many keys as a query may name: the server takes 16 MB. Rows of the others are read and left out. */
function asManyAs(held: ReadonlySet<string>): string[] {
  const keys: string[] = [];
  let size = 0;
  for (const key of held) {
    size += key.length + KEY_CHARACTERS;
    if (size > MOST_NAMED) break;
    keys.push(key);
  }
  return keys;
}

function failedChange(settlement: Settlement, reason: string | null): Document {
  if (settlement.kind !== 'retry' && settlement.kind !== 'dead') throw new TypeError('it has not failed');
  const common = { attempts: settlement.attempts, error: { $literal: settlement.error } };
  if (settlement.kind === 'dead')
    return { ...common, state: 'dead', reason: { $literal: reason }, deadAt: '$$NOW', dueAt: null, retry: null };
  const { delayMs, retry } = settlement;
  return { ...common, state: 'waiting', dueAt: { $add: ['$$NOW', delayMs] }, retry: { $literal: retry } };
}
