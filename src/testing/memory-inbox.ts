import type { ForeignMessage, SendResult } from '../outbox/outbox-store.ts';
import type { DeadLetter, Delivery, UnmirroredRequest } from '../relay/relay-store.ts';
import { deliveryOf } from './memory-row.ts';
import type { MemoryTables } from './memory-tables.ts';
import { OpenTransaction } from './memory-transaction.ts';

/** Stores what came from elsewhere, each once. */
export function receiveInto(
  tables: MemoryTables,
  wake: () => void,
  messages: readonly ForeignMessage[],
  rememberMs: number,
): readonly SendResult[] {
  const expiresAtMs = tables.nowMs() + rememberMs;
  const fresh = new Map<string, ForeignMessage>();
  const results = messages.map((message): SendResult => {
    const name = JSON.stringify([message.takenAs ?? message.type, message.id]);
    const isKnown = tables.inbox.has(name) || fresh.has(name);
    if (!isKnown) fresh.set(name, message);
    return { kind: isKnown ? 'duplicate' : 'stored', id: message.id };
  });
  const tx = new OpenTransaction(tables, wake, { isOwned: true });
  try {
    tx.receive([...fresh.values()]);
  } catch (error) {
    tx.finish(false);
    throw error;
  }
  for (const name of fresh.keys()) tables.inbox.set(name, { expiresAtMs });
  tx.finish(true);
  return results;
}

/** Dead letters of which no copy was noted since they died. */
export function findUnmirrored(
  tables: MemoryTables,
  units: readonly number[],
  { limit, without = [], type, after }: UnmirroredRequest,
): readonly DeadLetter[] {
  const rows = units.toSorted((a, b) => a - b).flatMap((unit) => tables.lines.line(unit));
  const isBehind = ({ unit, seq }: { readonly unit: number; readonly seq: number }): boolean =>
    !after || unit > after.unit || (unit === after.unit && seq > after.seq);
  const dead = rows
    .filter(({ state, mirrored, cycle }) => state === 'failed' && mirrored < cycle)
    .filter(
      (row) =>
        isBehind(row) && (type === undefined || row.message.type === type) && !without.includes(row.message.type),
    );
  return dead.slice(0, limit).map((row) => ({
    delivery: deliveryOf(row, Infinity),
    error: row.error ?? { name: 'Error', message: '', kind: 'unknown' },
    failedAtMs: row.failedAtMs ?? row.createdAtMs,
  }));
}

/** Notes that there are copies. */
export function noteMirrored(
  tables: MemoryTables,
  deliveries: readonly Pick<Delivery, 'unit' | 'seq' | 'cycle'>[],
): void {
  for (const { unit, seq, cycle } of deliveries) {
    const row = tables.lines.find(unit, seq);
    if (row?.cycle === cycle) row.mirrored = cycle;
  }
}
