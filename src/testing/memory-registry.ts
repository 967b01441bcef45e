import type { NewMessage } from '../outbox/outbox-store.ts';
import type { HouseReport, KeepOptions } from '../relay/house-report.ts';
import type { Lane, WorkerRegistration } from '../relay/relay-store.ts';
import type { MemoryRow } from './memory-row.ts';
import { type HandlerRow, type MemoryTables, SEQ_STEP } from './memory-tables.ts';

/** The lanes a message goes to, one for each handler of its type. Lane 0: nobody's. */
export function lanesFor(
  tables: MemoryTables,
  message: Pick<NewMessage, 'type' | 'takenAs' | 'generation'>,
): readonly { readonly handler: number; readonly lane: number }[] {
  const found: { handler: number; lane: number }[] = [];
  for (const { id, types, isPinned } of tables.handlers.values()) {
    if (!types.has(message.takenAs ?? message.type)) continue;
    const lane = tables.laneOf(id, isPinned ? message.generation : undefined);
    found.push({ handler: id, lane: lane?.id ?? 0 });
  }
  return found.length === 0 ? [{ handler: 0, lane: 0 }] : found;
}

/** Makes handlers, what they take and their lanes known to senders, and gives them what waited. */
export function makeKnown(tables: MemoryTables, worker: WorkerRegistration): readonly Lane[] {
  const unitCount = tables.settings.units;
  const lanes = worker.handlers.map(({ name, types, isPinned, isRepeatable, breaker }): Lane => {
    const handler = handlerNamed(tables, worker.service, name);
    handler.isPinned = isPinned;
    handler.isRepeatable = isRepeatable;
    for (const type of types) handler.types.add(type);
    if (breaker) breakerNamed(tables, worker.service, breaker.name);
    const lane = laneFor(tables, handler.id, isPinned ? worker.generation : undefined);
    return { lane, handler: name, handlerId: handler.id, firstUnit: lane * unitCount, unitCount };
  });
  adopt(tables);
  return lanes;
}

/** Whether nobody can own the lane yet. */
export function isClosed(tables: MemoryTables, { firstUnit }: Lane): boolean {
  return !tables.leases.has(firstUnit);
}

/** Lets workers own the lane. All that waited for it has been adopted. */
export function openLane(tables: MemoryTables, { firstUnit, unitCount }: Lane): void {
  adopt(tables);
  for (let unit = firstUnit; unit < firstUnit + unitCount; unit++) {
    if (!tables.leases.has(unit)) tables.leases.set(unit, { owner: undefined, epoch: 0 });
  }
}

function handlerNamed(tables: MemoryTables, service: string, name: string): HandlerRow {
  for (const handler of tables.handlers.values()) {
    if (handler.service === service && handler.name === name) return handler;
  }
  const id = tables.handlers.size + 1;
  const flags = { isPinned: false, isRepeatable: false, isPaused: false, limit: undefined };
  const made: HandlerRow = { id, service, name, ...flags, types: new Set() };
  tables.handlers.set(id, made);
  return made;
}

function breakerNamed({ breakers }: MemoryTables, service: string, name: string): void {
  const id = `${service}/${name}`;
  if (breakers.has(id)) return;
  const state = { state: 'closed', epoch: 0, probes: 0, probeAtMs: undefined, prober: undefined } as const;
  breakers.set(id, { service, name, ...state });
}

function laneFor(tables: MemoryTables, handler: number, generation: number | undefined): number {
  const known = tables.laneOf(handler, generation);
  if (known) return known.id;
  const id = tables.lanes.size + 1;
  tables.lanes.set(id, { id, handler, generation });
  return id;
}

/** Gives rows that nobody took to the handlers that take them now. They keep their place in line. */
function adopt(tables: MemoryTables): void {
  const waiting: MemoryRow[] = [];
  for (let unit = 0; unit < tables.settings.units; unit++) waiting.push(...tables.lines.line(unit));
  let tx: number | undefined;
  for (const row of waiting.sort((a, b) => a.seq - b.seq)) {
    const { type, takenAs } = row.message;
    const places = lanesFor(tables, { type, takenAs, generation: row.generation }).filter(
      ({ handler }) => row.handler === 0 || row.handler === handler,
    );
    if (places.every(({ lane }) => lane === 0) && places.every(({ handler }) => handler === row.handler)) continue;
    tx ??= tables.ids.pass();
    tables.lines.remove(row);
    for (const [place, { handler, lane }] of places.entries()) {
      const unit = tables.unitOf(lane, row.message.key ?? row.message.id);
      tables.lines.add({ ...row, handler, unit, seq: place < SEQ_STEP ? row.seq + place : tables.nextSeq(), tx });
    }
  }
}

/** The housekeeper's round. */
export function tidyTables(tables: MemoryTables, keep: KeepOptions): HouseReport {
  const nowMs = tables.nowMs();
  for (const [key, { expiresAtMs }] of tables.dedup) if (expiresAtMs <= nowMs) tables.dedup.delete(key);
  for (const [key, { expiresAtMs }] of tables.inbox) if (expiresAtMs <= nowMs) tables.inbox.delete(key);
  const kept = tables.finished.filter(({ doneAtMs }) => doneAtMs > nowMs - keep.historyMs);
  if (kept.length < tables.finished.length) tables.finished.splice(0, Infinity, ...kept);
  adopt(tables);
  const rows = tables.lines.all();
  const open = rows.filter(({ state }) => state !== 'failed');
  const ready = open.filter(({ state }) => state === 'ready').map(({ createdAtMs }) => createdAtMs);
  tables.isFull = keep.maxPending !== undefined && open.length >= keep.maxPending;
  return {
    pending: open.length,
    failed: rows.length - open.length,
    oldestMs: ready.length === 0 ? undefined : nowMs - Math.min(...ready),
    isFull: tables.isFull,
    unserved: unservedOf(tables, open),
  };
}

type Unserved = HouseReport['unserved'][number];

function unservedOf(tables: MemoryTables, open: readonly MemoryRow[]): readonly Unserved[] {
  const served = new Set([...tables.workers.values()].flatMap(({ lanes }) => lanes));
  const groups = new Map<string, Unserved>();
  for (const row of open) {
    if (served.has(tables.laneOfUnit(row.unit))) continue;
    const handler = tables.handlers.get(row.handler);
    const generation = handler?.isPinned === true ? row.generation : undefined;
    const reason = !handler ? 'no-handler' : generation === undefined ? 'no-worker' : 'generation-unserved';
    const type = handler ? undefined : row.message.type;
    const name = JSON.stringify([reason, handler?.name, type, generation]);
    const count = (groups.get(name)?.count ?? 0) + 1;
    groups.set(name, { reason, handler: handler?.name, type, generation, count });
  }
  return [...groups.values()];
}

/** How long a new lane waits for transactions that may have sent past it. One that was forgotten must not keep it closed. */
const PATIENCE_MS = 5_000;

/** Waits until every transaction is over that may have sent without knowing of a new lane, or until that takes too long. */
export async function untilSendersKnow({ ids, settings: { effects } }: MemoryTables): Promise<void> {
  const over = ids.whenOver();
  if (!over) return;
  const late = Promise.withResolvers<void>();
  const timer = effects.setTimer(late.resolve, PATIENCE_MS);
  await Promise.race([over, late.promise]);
  effects.clearTimer(timer);
}
