import type { DeadLetter } from '../relay/relay-store.ts';
import type { Transport, TransportHost } from '../transport/transport.ts';
import { deliveryOf, type InboxRow } from './row.ts';
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
 * row stays the truth; a copy that cannot be made holds up nothing, and is made later.
 */
export function mirrorDead(parts: MirrorParts, round: WorkerParts['round']): WorkerParts['round'] {
  let failures = 0;
  let isCopying = false;
  const copy = async (): Promise<void> => {
    isCopying = true;
    const error = await copyDead(parts).catch((thrown: unknown) => thrown);
    isCopying = false;
    failures = error === undefined ? 0 : failures + 1;
    if (error === undefined) return;
    parts.host.tell({ kind: 'transport-failed', transport: parts.transport.name, during: 'mirror', error, failures });
  };
  return async (tenure) => {
    const next = await round(tenure);
    if (next !== 'busy' && !isCopying) void copy();
    return next;
  };
}

/** Gives why there is no copy of one of them. */
async function copyDead({ rows, service, host, transport, idOf }: MirrorParts): Promise<unknown> {
  const found = await rows.collection
    .find({ service, state: 'dead', isMirrored: false } as object)
    .sort({ seq: 1 })
    .limit(AT_ONCE)
    .toArray();
  if (found.length === 0) return undefined;
  const byLetter = new Map((found as unknown as InboxRow[]).map((row) => [letterOf(row, idOf(row)), row]));
  const { done, error } = await transport.copyDead(host, [...byLetter.keys()]);
  const ids = done.flatMap((letter) => byLetter.get(letter) ?? []).map(({ _id: id }) => id);
  await rows.collection.updateMany({ _id: { $in: ids }, state: 'dead' }, [{ $set: { isMirrored: true } }]);
  return error;
}

function letterOf(row: InboxRow, id: string): DeadLetter {
  const error = row.error ?? { name: 'unknown', message: '', kind: 'unknown' };
  return { delivery: deliveryOf(row, id), error, failedAtMs: row.deadAt?.getTime() ?? 0 };
}
