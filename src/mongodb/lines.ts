import type { ClientSession, Collection, Db } from 'mongodb';
import { ownCollection } from './collections.ts';

/** A line: keys with the same hash share one, so that their number stays what it is. */
interface Line {
  readonly _id: string;
  readonly seq: number;
}

// Two senders of different keys meet in a line by chance, and one of them is run again: with 50 transactions at once, one in eighty.
const COUNT = 4_096;

const COLLECTION = 'holdfast_lines';
const EXISTS = 48;

/** The room in a millisecond. Numbers stay whole for JavaScript until the year 2255. */
const PER_MS = 1_000;

/**
 * Gives places in line. A place is the greater of the one after the line's last and the server's time, so that places of one line only
 * ever grow, and places of different lines are about as old as they look.
 */
export class Lines {
  readonly #db: Db;
  readonly #lines: Collection<Line>;
  readonly #name: string;

  constructor(db: Db, name: string) {
    this.#db = db;
    this.#lines = ownCollection<Line>(db, COLLECTION);
    this.#name = name;
  }

  /** Makes the collection. Lines are made by those who need them first: two at once conflict, as two that write one do. */
  async prepare(): Promise<void> {
    try {
      await this.#db.createCollection(COLLECTION);
    } catch (error) {
      if ((error as { code?: unknown }).code !== EXISTS) throw error;
    }
  }

  /** The line of a key. */
  of(key: string): string {
    return `${this.#name}:${hashOf(key) % COUNT}`;
  }

  /**
   * The first of `count` places. In a session, the line is its transaction's until that ends: another that wants a place in it is
   * rolled back by the server and comes again. So within a line the order of places is the order of commits.
   */
  async reserve(line: string, count: number, session?: ClientSession): Promise<number> {
    const next = { $max: [{ $add: [{ $ifNull: ['$seq', 0] }, 1] }, { $multiply: [{ $toLong: '$$NOW' }, PER_MS] }] };
    const found = await this.#lines.findOneAndUpdate({ _id: line }, [{ $set: { seq: { $add: [next, count - 1] } } }], {
      upsert: true,
      returnDocument: 'after',
      ...(session && { session }),
    });
    return Number(found?.seq) - count + 1;
  }
}

/** FNV-1a. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
}
