import type { Effects } from '../kernel/effects.ts';
import { COME_BACK_MS } from '../relay/relay-store.ts';
import type { MemoryTables } from './memory-tables.ts';

/** What a session holds as long as its connection is there. */
export interface LivenessLock {
  isHeld: boolean;
}

/** The liveness lock of a session, another one after each loss. */
export class Liveness {
  readonly #effects: Effects;
  #lock: LivenessLock | undefined;
  #isOver = false;

  constructor(effects: Effects) {
    this.#effects = effects;
  }

  get lock(): LivenessLock | undefined {
    return this.#lock;
  }

  take(): void {
    if (!this.#isOver) this.#lock = { isHeld: true };
  }

  /** The server ends its connection. The session takes another lock after `backInMs`, if it had one. */
  lose(backInMs: number): void {
    if (this.#lock === undefined) return;
    this.#lock.isHeld = false;
    this.#lock = undefined;
    this.#effects.setTimer(() => this.take(), backInMs);
  }

  end(): void {
    this.#isOver = true;
    if (this.#lock) this.#lock.isHeld = false;
  }
}

/** As PostgreSQL's store does it. Gives after how long to look again because a worker's lock is missing. */
export function expireWorkers(tables: MemoryTables, me: string, lock: LivenessLock | undefined): number | undefined {
  const nowMs = tables.nowMs();
  let againInMs: number | undefined;
  for (const [id, worker] of tables.workers) {
    if (id === me) {
      worker.livenessLock = lock;
      worker.lockMissingSinceMs = undefined;
    } else if (worker.livenessLock?.isHeld === false) {
      worker.lockMissingSinceMs ??= nowMs;
    }
    const { lockMissingSinceMs: sinceMs, expiresAtMs } = worker;
    const leftMs = sinceMs === undefined ? Infinity : sinceMs + COME_BACK_MS - nowMs;
    if (expiresAtMs < nowMs || leftMs <= 0) tables.workers.delete(id);
    else if (leftMs !== Infinity) againInMs = Math.min(againInMs ?? Infinity, leftMs);
  }
  return againInMs;
}
