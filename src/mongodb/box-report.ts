import type { Document } from 'mongodb';
import type { Effects } from '../kernel/effects.ts';
import type { HouseReport } from '../relay/house-report.ts';
import { answered } from './answered.ts';
import type { Row, RowState } from './row.ts';
import type { Rows } from './rows.ts';

/** Beyond this many, messages are not counted on: an index entry is read for each. */
const MOST_COUNTED = 100_000;

/** Counts the messages of a service that are pending and dead, up to 100,000 each, and says how old the oldest open one is. */
export async function boxReport<R extends Row>(rows: Rows<R>, service: string, effects: Effects): Promise<HouseReport> {
  const { collection } = rows;
  const count = (...states: readonly RowState[]): Promise<number> =>
    collection.countDocuments({ service, state: { $in: [...states] } }, { limit: MOST_COUNTED });
  const age: Document = { $subtract: ['$$NOW', '$createdAt'] };
  const oldest = collection
    .find<{ ageMs: number }>({ service, state: 'open' }, { projection: { _id: 0, ageMs: age } })
    .sort({ seq: 1 })
    .limit(1)
    .toArray();
  const counted = Promise.all([count('open', 'waiting'), count('dead'), oldest]);
  const [pending, failed, [first]] = await answered(effects, counted);
  // The clocks of the sender and of the server may differ by a little.
  const oldestMs = first && Math.max(0, first.ageMs);
  return { pending, failed, oldestMs, isFull: false, unserved: [] };
}
