import type { Delivery, ReadAnswer, ReadRequest, Snapshot, UnitLoad } from '../relay/relay-store.ts';
import { indexAfter } from './memory-lines.ts';
import { deliveryOf, type MemoryRow } from './memory-row.ts';
import type { MemoryTables } from './memory-tables.ts';

/** One read: everything in it is of one moment. */
export function readTables(tables: MemoryTables, request: ReadRequest): ReadAnswer {
  const { inlineChars, lateLimit } = tables.settings;
  const ready: MemoryRow[] = [];
  const waiting: MemoryRow[] = [];
  const pokes = new Map<number, number>();
  let late = 0;
  const lastSeqs = new Map<number, number>();
  for (const { unit, after, limit, skipsBlocked, withoutDue } of request.units) {
    const line = tables.lines.line(unit);
    const poke = tables.pokes.get(unit);
    if (poke !== undefined) pokes.set(unit, poke);
    let left = limit;
    const cursor = indexAfter(line, after);
    const blocked = skipsBlocked ? blockedKeys(line) : new Set();
    for (const [i, row] of line.entries()) {
      if (row.state === 'waiting' && !withoutDue) waiting.push(row);
      if (row.state !== 'ready') continue;
      if (skipsBlocked) lastSeqs.set(unit, row.seq);
      if (i >= cursor) {
        if (!blocked.has(row.message.key ?? Symbol()) && left-- > 0) ready.push(row);
      } else if (request.since && !wasOver(request.since, row.tx)) {
        late += 1;
        ready.push(row);
      }
    }
  }
  const nowMs = tables.nowMs();
  waiting.sort((a, b) => (a.dueAtMs ?? 0) - (b.dueAtMs ?? 0) || a.seq - b.seq);
  const due = waiting.filter(({ dueAtMs = 0 }) => dueAtMs <= nowMs).slice(0, request.dueLimit);
  const next = waiting[due.length]?.dueAtMs;
  const shown = (row: MemoryRow): Delivery => deliveryOf(row, inlineChars);
  return {
    snapshot: tables.ids.snapshot(),
    ready: ready.sort((a, b) => a.seq - b.seq).map(shown),
    isLateOverflow: late > lateLimit,
    due: due.map(shown),
    nextDueInMs: next === undefined ? undefined : Math.max(0, next - nowMs),
    pokes,
    lastSeqs,
  };
}

/** Keys that a dead letter holds. */
function blockedKeys(line: readonly MemoryRow[]): ReadonlySet<unknown> {
  return new Set(line.filter(({ holds, state }) => holds && state === 'failed').map(({ message }) => message.key));
}

/** Whether the transaction had ended when the snapshot was taken: its rows were visible then. */
function wasOver({ xmax, xip }: Snapshot, tx: number): boolean {
  return tx < Number(xmax) && !xip.includes(String(tx));
}

/** What stands in the way in each unit. */
export function loadUnits(tables: MemoryTables, units: readonly number[]): readonly UnitLoad[] {
  return units.map((unit) => ({
    unit,
    poke: tables.pokes.get(unit) ?? 0,
    holders: tables.lines
      .line(unit)
      .flatMap(({ holds, seq, state, message: { key } }) =>
        holds && key !== undefined ? [{ key, seq, isDead: state === 'failed' }] : [],
      ),
  }));
}
