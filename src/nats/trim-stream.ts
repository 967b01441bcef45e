import type { JetStreamManager } from './nats-library.ts';

/**
 * Takes away messages that are older than `keepMs` and that every consumer has acknowledged. One that was left behind keeps them all:
 * what nobody has read is not lost.
 */
export async function trimStream(
  manager: JetStreamManager,
  stream: string,
  { keepMs, nowMs }: { readonly keepMs: number; readonly nowMs: number },
): Promise<void> {
  if (!Number.isFinite(keepMs)) return;
  let to = Infinity;
  for await (const { ack_floor: floor } of manager.consumers.list(stream)) to = Math.min(to, floor.stream_seq);
  const from = (await manager.streams.info(stream)).state.first_seq;
  if (!Number.isFinite(to) || to < from) return;
  const youngest = keepMs === 0 ? to + 1 : await firstSince(manager, stream, { from, to, sinceMs: nowMs - keepMs });
  if (youngest > from) await manager.streams.purge(stream, { seq: youngest });
}

/** The first number from which on all are younger; one behind the last where none is. By halves, because times only grow. */
async function firstSince(
  manager: JetStreamManager,
  stream: string,
  { from, to, sinceMs }: { readonly from: number; readonly to: number; readonly sinceMs: number },
): Promise<number> {
  let [low, high] = [from, to + 1];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const found = await manager.streams.getMessage(stream, { seq: middle, next_by_subj: '>' });
    if (!found || found.time.getTime() >= sinceMs) high = middle;
    else low = found.seq + 1;
  }
  return Math.min(low, to + 1);
}
