import type { DeadLetter } from '../relay/relay-store.ts';
import type { Transport, TransportHost } from '../transport/transport.ts';
import { answered } from './answered.ts';
import { deliveryOf, type InboxRow, readRow } from './row.ts';
import type { Rows } from './rows.ts';
import type { WorkerParts } from './worker.ts';

/** What copying needs. */
export interface MirrorParts {
  readonly rows: Rows<InboxRow>;
  readonly service: string;
  readonly host: TransportHost;
  readonly transport: Transport;
  readonly idOf: (row: InboxRow) => string;
}

const AT_ONCE = 100;

/**
 * Rounds after which dead ones are copied to where the broker's own tools look for them, each at least once for each time it died. The
 * row stays the truth; a copy that cannot be made holds up nothing, and is made later. `settled`: none is under way.
 */
export function mirrorDead(parts: MirrorParts, round: WorkerParts['round']): Pick<WorkerParts, 'round' | 'settled'> {
  const turn: Turn = { after: -Infinity };
  let failures = 0;
  let copying: Promise<void> | undefined;
  const copy = async (): Promise<void> => {
    const error = await copyDead(parts, turn).catch((thrown: unknown) => thrown);
    copying = undefined;
    failures = error === undefined ? 0 : failures + 1;
    if (error === undefined) return;
    parts.host.tell({ kind: 'transport-failed', transport: parts.transport.name, during: 'mirror', error, failures });
  };
  return {
    round: async (tenure) => {
      const next = await round(tenure);
      if (next !== 'busy' && !tenure.signal.aborted) copying ??= copy();
      return next;
    },
    settled: async () => copying,
  };
}

/** How far it has come among those without a copy: what fails is tried again when all behind it have had their turn. */
interface Turn {
  after: number;
}

/** Gives why there is no copy of one of them. */
async function copyDead({ rows, service, host, transport, idOf }: MirrorParts, turn: Turn): Promise<unknown> {
  const stored = await answered(
    host.effects,
    rows.collection
      .find({ service, state: 'dead', isMirrored: false, seq: { $gt: turn.after } } as object)
      .sort({ seq: 1 })
      .limit(AT_ONCE)
      .toArray(),
  );
  const found = stored.map((row) => readRow(row) as InboxRow);
  turn.after = found.length < AT_ONCE ? -Infinity : (found.at(-1)?.seq ?? -Infinity);
  if (found.length === 0) return undefined;
  const byLetter = new Map(found.map((row) => [letterOf(row, idOf(row)), row]));
  const { done, error } = await transport.copyDead(host, [...byLetter.keys()]);
  const copied = done.flatMap((letter) => byLetter.get(letter) ?? []);
  // One that was replayed meanwhile and died again needs another.
  const marks = copied.map(({ _id, replays }) => ({
    updateOne: { filter: { _id, state: 'dead' as const, replays }, update: [{ $set: { isMirrored: true } }] },
  }));
  if (marks.length > 0) await answered(host.effects, rows.collection.bulkWrite(marks, { ordered: false }));
  return error;
}

function letterOf(row: InboxRow, id: string): DeadLetter {
  const error = row.error ?? { name: 'unknown', message: '', kind: 'unknown' };
  return { delivery: deliveryOf(row, id), error, failedAtMs: row.deadAt?.getTime() ?? 0 };
}
