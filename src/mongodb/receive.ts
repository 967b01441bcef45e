import type { ClientSession, Db } from 'mongodb';
import { systemEffects } from '../system/effects.ts';
import type { ForeignMessage } from '../outbox/outbox-store.ts';
import type { TransportHost } from '../transport/transport.ts';
import { answered } from './answered.ts';
import type { Lines } from './lines.ts';
import { type InboxRow, rowOf, storedRow } from './row.ts';
import type { Rows } from './rows.ts';
import { inTransaction } from './transaction.ts';

/** Where to. */
export interface ReceiveParts {
  readonly db: Db;
  readonly rows: Rows<InboxRow>;
  readonly lines: Lines;
  readonly service: string;
}

/**
 * Stores messages of a broker in their order, each once however often it arrives. When it resolves they may be acknowledged. Places and
 * rows are one transaction: who stores the same messages at the same time comes after it or before it, never in between, so that
 * no message of a batch has a place from one of them and the message behind it an earlier one from the other.
 */
export function receiveInto(parts: ReceiveParts): TransportHost['receive'] {
  const { db, rows, service } = parts;
  return async (messages) => {
    const at = new Date(systemEffects.now().wallMs);
    const fresh = await answered(
      systemEffects,
      inTransaction(db.client, (session) => store(parts, session, messages, at)),
    );
    const known = messages.flatMap((message, place) => (fresh.has(place) ? [] : [`${service} ${message.id}`]));
    // Not in the transaction: a message that is being handled would make the server refuse it.
    if (known.length > 0) {
      const isProcessed = { $ne: ['$firstProcessedAt', null] };
      const change = { lastArrivedAt: at, lastProcessedAt: { $cond: [isProcessed, at, null] } };
      await answered(systemEffects, rows.collection.updateMany({ _id: { $in: known } }, [{ $set: change }]));
    }
    return messages.map(({ id }, place) => ({ kind: fresh.has(place) ? 'stored' : 'duplicate', id }));
  };
}

const NOT_PROCESSED = { firstProcessedAt: null, lastProcessedAt: null };

/** Gives the places in the batch of those that were not there. */
async function store(
  { rows, lines, service }: ReceiveParts,
  session: ClientSession,
  messages: readonly ForeignMessage[],
  at: Date,
): Promise<ReadonlySet<number>> {
  // One line for all: whoever reads a key after another has its places after those of the other.
  const first = await lines.reserve(`inbox ${service}`, messages.length, session);
  const ids = messages.map(({ id }) => `${service} ${id}`);
  const found = await rows.collection.find({ _id: { $in: ids } }, { session, projection: { _id: 1 } }).toArray();
  const known = new Set(found.map(({ _id: id }) => id));
  const fresh = new Map<number, InboxRow>();
  for (const [place, message] of messages.entries()) {
    const id = `${service} ${message.id}`;
    if (known.has(id)) continue;
    known.add(id);
    const arrived = { sourceId: message.sourceId, lastArrivedAt: at, ...NOT_PROCESSED, isMirrored: false };
    const about = { _id: id, service, seq: first + place, createdAt: at };
    fresh.set(place, Object.assign(rowOf(message, about), arrived));
  }
  if (fresh.size > 0) await rows.collection.insertMany([...fresh.values()].map(storedRow), { session });
  return new Set(fresh.keys());
}
