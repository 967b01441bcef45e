import type { Document, Filter } from 'mongodb';
import { before } from '../collections.ts';
import { transactionsOf, inTransaction } from '../transaction.ts';
import type { RowState } from '../row.ts';
import { type AuditedChange, prepareAudit, writeAudit } from './audit-log.ts';
import type { BoxRow, FoundRow } from './box-row.ts';
import type { OperatorParts } from './operator-parts.ts';

/** Changes rows with what is written about it in the audit. */
export interface RowChanges {
  /** Throws where there are no transactions, and makes what the audit needs. Called by the changes themselves. */
  readonly prepared: () => Promise<unknown>;
  /** Lets those of these that are dead be tried again, at their places in line. How many they were. */
  replay(rows: readonly FoundRow[], change: AuditedChange): Promise<number>;
  /** Gives up those of these that are in one of the states. How many they were. */
  discard(rows: readonly FoundRow[], states: readonly RowState[], change: AuditedChange): Promise<number>;
}

/** So many cycles of a message are kept. */
const MOST_CYCLES = 20;

/** What of a row is as if it had never been tried. */
export const AGAIN = { state: 'open', attempts: 0, retry: null, dueAt: null, reason: null, deadAt: null };

/** The changes of an operator: each one transaction, with its audit. What another has changed first is left alone. */
export function rowChanges(parts: OperatorParts): RowChanges {
  const hasTransactions = transactionsOf(parts.db, 'mongoOperator()');
  const prepared = before(async () => {
    await hasTransactions();
    await prepareAudit(parts);
  });
  return {
    prepared,
    async replay(rows, change) {
      await prepared();
      const pipeline = (found: FoundRow): Document[] => [
        { $set: { failures: cyclesWith(found, change.by.actor) } },
        { $set: { ...AGAIN, replays: { $add: ['$replays', 1] } } },
      ];
      return inPieces(rows, (some) => changeRows(parts, some, ['dead'], change, pipeline));
    },
    async discard(rows, states, change) {
      await prepared();
      return inPieces(rows, (some) => changeRows(parts, some, states, change, discarded));
    },
  };
}

function discarded(found: FoundRow): Document[] {
  return [
    { $set: { failures: { $cond: [{ $eq: ['$state', 'dead'] }, cyclesWith(found, null), KEPT] } } },
    { $set: { ...ENDED, ...(found.box.name === 'inbox' && DROPPED) } },
  ];
}

const ENDED = { state: 'discarded', endedAt: '$$NOW', dueAt: null, retry: null };
// As when one of an inbox is processed: its id is what is remembered.
const DROPPED = { payload: 'null', headers: [] };
const KEPT = { $ifNull: ['$failures', []] };

// Without its stack: a history grows with every replay. What is missing stays missing.
const ERROR = Object.fromEntries(
  ['name', 'message', 'code', 'kind', 'isFinal'].map((field) => [field, `$error.${field}`]),
);

/** The cycles of a row with the one that has failed now. */
export function cyclesWith({ handler }: FoundRow, replayedBy: string | null): Document {
  const cycle = {
    cycle: '$replays',
    service: { $literal: handler.service },
    handler: { $literal: handler.name },
    attempts: '$attempts',
    firstFailedAt: null,
    failedAt: { $dateToString: { date: '$deadAt' } },
    error: { $cond: [{ $eq: [{ $type: '$error' }, 'object'] }, ERROR, null] },
    generation: '$generation',
    replayedAt: replayedBy === null ? null : { $dateToString: { date: '$$NOW' } },
    replayedBy: { $literal: replayedBy },
  };
  return { $slice: [{ $concatArrays: [KEPT, [cycle]] }, -MOST_CYCLES] };
}

/** In one transaction. Thousands in one would be rolled back again and again: the server keeps all of it in memory. */
const MOST_AT_ONCE = 500;

/** One transaction for each piece. How many were changed in all. */
async function inPieces(
  rows: readonly FoundRow[],
  change: (some: readonly FoundRow[]) => Promise<number>,
): Promise<number> {
  let count = 0;
  for (let from = 0; from < rows.length; from += MOST_AT_ONCE)
    count += await change(rows.slice(from, from + MOST_AT_ONCE));
  return count;
}

async function changeRows(
  parts: OperatorParts,
  rows: readonly FoundRow[],
  states: readonly RowState[],
  change: AuditedChange,
  pipeline: (found: FoundRow) => Document[],
): Promise<number> {
  if (rows.length === 0) return 0;
  return inTransaction(parts.db.client, async (session) => {
    const changed: FoundRow[] = [];
    // By handler: what is written holds its name.
    for (const some of Map.groupBy(rows, ({ handler }) => handler.id).values()) {
      const [first] = some;
      if (!first) continue;
      const filter: Filter<BoxRow> = {
        _id: { $in: some.map(({ row: { _id: id } }) => id) },
        state: { $in: [...states] },
      };
      const now = await first.box.rows.find(filter, { session, projection: { payload: 0, headers: 0 } }).toArray();
      const ids = now.map(({ _id }) => _id);
      // What is changed meanwhile makes the server refuse this, and all of it is done again.
      await first.box.rows.updateMany({ _id: { $in: ids } }, pipeline(first), { session });
      const { box, handler } = first;
      changed.push(...now.map((row) => ({ box, handler, row })));
    }
    await writeAudit(parts, session, changed, change);
    return changed.length;
  });
}
