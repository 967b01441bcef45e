import type { KeyLine } from './key-line.ts';
import type { Delivery } from './relay-store.ts';

// Beyond this many behind one that runs, only the place in line is kept in memory: 8 bytes each, however long the line is.
const DEEP = 8;
const FETCH_AT_ONCE = 50;
// A wide line is worked off as fast as messages without a key: much of it is in memory, as long as that is not much text.
const WIDE_DEEP = 512;
const WIDE_LOW = 128;
const WIDE_FETCH_AT_ONCE = 512;
const WIDE_FETCH_CHARS = 262_144;
const ROOMY_CHARS = 524_288;

/** Up to how many of the line are kept with all they carry, besides what runs. `chars`: what is kept in the unit. */
export function depthOf(line: KeyLine, chars: number): number {
  const { width } = line;
  if (width > 1 && !line.hasDeadHolder) return chars < ROOMY_CHARS ? WIDE_DEEP : width;
  return width === 0 || line.isHeld ? 0 : DEEP;
}

/** How many are parked at once behind a dead letter. */
export const PARK_AT_ONCE: number = FETCH_AT_ONCE;

/** What is kept of the line is nearly worked off, so that more of its tail is to be fetched. */
export function isShort(line: KeyLine, chars: number): boolean {
  const { width } = line;
  if (line.hasDeadHolder) return false;
  if (width > 1) return line.queue.size < width || (line.queue.size < WIDE_LOW && chars < ROOMY_CHARS);
  return width === 1 && !line.isHeld && line.busy === 0;
}

/** The next places of its tail, taken out of it: as many as are fetched at once. */
export function takeTail(line: KeyLine): readonly number[] {
  const { width } = line;
  const most = width > 1 ? Math.min(WIDE_FETCH_AT_ONCE, Math.max(FETCH_AT_ONCE, width, line.fetchSize)) : FETCH_AT_ONCE;
  const seqs: number[] = [];
  while (seqs.length < most) {
    const seq = line.tail.shift();
    if (seq === undefined) break;
    seqs.push(seq);
  }
  return seqs;
}

/** Small ones are fetched many at once; of large ones only so many that they do not fill the memory. */
export function noteFetched(line: KeyLine, deliveries: readonly Delivery[]): void {
  if (deliveries.length === 0) return;
  const chars = deliveries.reduce((sum, { payload }) => sum + (payload?.length ?? 0), 0);
  line.fetchSize = Math.floor(WIDE_FETCH_CHARS / Math.max(1, chars / deliveries.length));
}

/** It is fetched when it is started. */
export function withoutPayload(delivery: Delivery): Delivery {
  return { ...delivery, payload: undefined };
}
