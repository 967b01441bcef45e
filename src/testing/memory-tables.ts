import type { Effects } from '../kernel/effects.ts';
import { HOUSE_UNIT } from '../relay/relay-store.ts';
import type { Fault, FaultPoint } from './memory-fault.ts';
import { MemoryLines } from './memory-lines.ts';
import type { LivenessLock } from './memory-liveness.ts';
import type { FinishedRow, MemoryRow, Outcome } from './memory-row.ts';
import { TransactionIds } from './memory-transaction-ids.ts';

/** What the store is made with; all of it decided. */
export interface MemorySettings {
  readonly effects: Effects;
  readonly units: number;
  readonly lateLimit: number;
  readonly inlineChars: number;
  readonly dedupMs: number;
  readonly fault: (point: FaultPoint) => Fault | undefined;
}

/** How far two places in line are apart: between them is room for the others of a message that is given to several handlers later. */
export const SEQ_STEP = 64;

/** A registered handler. */
export interface HandlerRow {
  readonly id: number;
  readonly service: string;
  readonly name: string;
  isPinned: boolean;
  isRepeatable: boolean;
  isPaused: boolean;
  /** As an operator set it. */
  limit: number | undefined;
  readonly types: Set<string>;
}

/** A breaker; `probeAtMs` is absent unless it is open and not held so by hand. */
export interface BreakerRow {
  readonly service: string;
  readonly name: string;
  state: 'closed' | 'open' | 'probing';
  epoch: number;
  probes: number;
  probeAtMs: number | undefined;
  prober: string | undefined;
}

interface LaneRow {
  readonly id: number;
  readonly handler: number;
  readonly generation: number | undefined;
}

interface WorkerRow {
  readonly id: string;
  readonly service: string;
  readonly lanes: readonly number[];
  expiresAtMs: number;
  /** Absent: only the lease counts. */
  livenessLock: LivenessLock | undefined;
  lockMissingSinceMs: number | undefined;
}

/** What a write holds until it is committed: leases against a takeover, rows against another change. */
export interface MemoryLock {
  readonly units: ReadonlySet<number>;
  readonly rows: ReadonlySet<MemoryRow>;
  readonly ended: Promise<void>;
}

/** Everything that is committed, and who waits for whom. */
export class MemoryTables {
  readonly settings: MemorySettings;
  readonly ids: TransactionIds = new TransactionIds();
  readonly lines: MemoryLines = new MemoryLines();
  readonly finished: FinishedRow[] = [];
  readonly handlers: Map<number, HandlerRow> = new Map();
  readonly lanes: Map<number, LaneRow> = new Map();
  readonly workers: Map<string, WorkerRow> = new Map();
  readonly leases: Map<number, { owner: string | undefined; epoch: number }> = new Map([
    [HOUSE_UNIT, { owner: undefined, epoch: 0 }],
  ]);
  /** By service and name. */
  readonly breakers: Map<string, BreakerRow> = new Map();
  readonly pokes: Map<number, number> = new Map();
  readonly waiters: Set<string> = new Set();
  readonly dedup: Map<string, { readonly id: string; readonly expiresAtMs: number }> = new Map();
  /** Messages that came from elsewhere, by what they were taken as and their id. */
  readonly inbox: Map<string, { readonly expiresAtMs: number }> = new Map();
  /** What handlers recorded in transactions that were committed, in the order of the commits. */
  readonly recorded: unknown[] = [];
  readonly values: Map<string, unknown> = new Map();
  readonly locks: Set<MemoryLock> = new Set();
  /** Who has a key to itself until its transaction ends. */
  readonly keyLocks: Map<string, { readonly ended: Promise<void> }> = new Map();
  isPaused = false;
  isFull = false;
  #seq = 0;

  constructor(settings: MemorySettings) {
    this.settings = settings;
  }

  nowMs(): number {
    return this.settings.effects.now().wallMs;
  }

  nextSeq(): number {
    this.#seq += SEQ_STEP;
    return this.#seq;
  }

  laneOf(handler: number, generation: number | undefined): LaneRow | undefined {
    for (const lane of this.lanes.values()) {
      if (lane.handler === handler && lane.generation === generation) return lane;
    }
    return undefined;
  }

  laneOfUnit(unit: number): number {
    return Math.floor(unit / this.settings.units);
  }

  /** The unit of a lane that the messages of a key, or one message without a key, stand in. */
  unitOf(lane: number, keyOrId: string): number {
    return lane * this.settings.units + (hash(keyOrId) % this.settings.units);
  }

  isLaneOfNobody(row: MemoryRow): boolean {
    return this.laneOfUnit(row.unit) === 0;
  }

  finish(row: MemoryRow, outcome: Outcome, durationMs?: number): void {
    this.lines.remove(row);
    this.finished.push({ ...row, outcome, doneAtMs: this.nowMs(), durationMs });
  }

  poke(unit: number): void {
    this.pokes.set(unit, (this.pokes.get(unit) ?? 0) + 1);
  }

  isUnitLocked(unit: number): boolean {
    for (const lock of this.locks) if (lock.units.has(unit)) return true;
    return false;
  }

  lockOf(row: MemoryRow): MemoryLock | undefined {
    for (const lock of this.locks) if (lock.rows.has(row)) return lock;
    return undefined;
  }

  /** Ends when no lock meets any of these. */
  async unlocked(units: Iterable<number>, rows: Iterable<MemoryRow>): Promise<void> {
    const find = (): MemoryLock | undefined => {
      for (const lock of this.locks) {
        for (const unit of units) if (lock.units.has(unit)) return lock;
        for (const row of rows) if (lock.rows.has(row)) return lock;
      }
      return undefined;
    };
    for (let lock = find(); lock; lock = find()) await lock.ended;
  }
}

/** FNV-1a: spreads keys over units, and is the same in every run. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193) >>> 0;
  return (value ^ (value >>> 15)) >>> 0;
}
