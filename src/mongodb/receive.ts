import { systemEffects } from '../system/effects.ts';
import type { TransportHost } from '../transport/transport.ts';
import { answered } from './answered.ts';
import type { Lines } from './lines.ts';
import { type InboxRow, rowOf } from './row.ts';
import type { Rows } from './rows.ts';

/** Where to. */
export interface ReceiveParts {
  readonly rows: Rows<InboxRow>;
  readonly lines: Lines;
  readonly service: string;
}

/**
 * Stores messages of a broker in their order, each once however often it arrives. When it resolves they may be acknowledged. Needs no
 * transaction: whatever of a batch was stored before a failure is left out when the batch comes again.
 */
export function receiveInto({ rows, lines, service }: ReceiveParts): TransportHost['receive'] {
  return async (messages) => {
    // One line for all: whoever reads a key after another has its places after those of the other.
    const first = await answered(systemEffects, lines.reserve(`inbox ${service}`, messages.length));
    const at = new Date(systemEffects.now().wallMs);
    const writes = messages.map((message, place) => {
      const about = { _id: `${service} ${message.id}`, service, seq: first + place, created: at };
      const { _id, ...row } = rowOf(message, about);
      const arrived = { sourceId: message.sourceId, firstAt: at, processedAt: null, isMirrored: false };
      const update = { $setOnInsert: Object.assign(row, arrived), $set: { lastAt: at } };
      return { updateOne: { filter: { _id }, update, upsert: true } };
    });
    const written = await answered(systemEffects, rows.collection.bulkWrite(writes, { ordered: true }));
    return messages.map(({ id }, place) => ({ kind: place in written.upsertedIds ? 'stored' : 'duplicate', id }));
  };
}
