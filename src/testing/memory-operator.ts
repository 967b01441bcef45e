import { freshRow, type MemoryRow } from './memory-row.ts';
import type { HandlerRow, MemoryTables } from './memory-tables.ts';

/**
 * What an operator does, each in one transaction of its own: the row is changed, its owner is told to look again, and sleepers
 * are woken. False: refused, because the row is not there, not in a state for it, or being committed just now.
 */
export class MemoryOperator {
  readonly #tables: MemoryTables;
  readonly #wake: () => void;

  constructor(tables: MemoryTables, wake: () => void) {
    this.#tables = tables;
    this.#wake = wake;
  }

  /** Runs a dead letter again, from its first attempt; with `generation`, by workers of that one. */
  replay(id: string, handler: string, options: { readonly generation?: number | undefined } = {}): boolean {
    return this.#change(this.#rows(id, handler, ['failed']), (row) => {
      this.#makeDue(row);
      if (options.generation !== undefined) this.#moveTo(row, options.generation);
    });
  }

  /** Replays all dead letters of a key of one handler, parked ones too. */
  replayKey(handler: string, key: string): boolean {
    return this.#change(this.#deadOf(handler, key), (row) => this.#makeDue(row));
  }

  /** Discards all dead letters of a key of one handler, parked ones too. */
  discardKey(handler: string, key: string): boolean {
    return this.#change(this.#deadOf(handler, key), (row) => this.#tables.finish(row, 'discarded'));
  }

  /** Unblocks a key: its dead letters stay and hold nothing any more, and what was parked behind them runs. */
  releaseKey(handler: string, key: string): boolean {
    const holding = this.#deadOf(handler, key).filter(({ holds }) => holds);
    return this.#change(holding, (row) => {
      row.holds = false;
      if (isParked(row)) this.#makeDue(row);
    });
  }

  /** Discards the first dead letter of a key; what was parked behind it runs, up to the next that failed itself. */
  skipKey(handler: string, key: string): boolean {
    const [head, ...behind] = this.#deadOf(handler, key);
    if (!head) return false;
    const next = behind.findIndex((row) => row.holds && !isParked(row));
    const parked = behind.slice(0, next === -1 ? undefined : next).filter(isParked);
    return this.#change([head, ...parked], (row) => {
      if (row === head) this.#tables.finish(row, 'discarded');
      else this.#makeDue(row);
    });
  }

  /** Runs a repeatable handler again for a message that it has handled. What it did stays in the history. */
  rerun(id: string, handler: string): boolean {
    const { finished, handlers, lines } = this.#tables;
    const rows = finished.filter(({ message }) => message.id === id);
    const done = rows.findLast((row) => handlers.get(row.handler)?.name === handler);
    const isOpen = lines.all().some((row) => row.message.id === id && row.handler === done?.handler);
    const isRepeatable = done !== undefined && handlers.get(done.handler)?.isRepeatable === true;
    if (done?.outcome !== 'delivered' || isOpen || !isRepeatable) return false;
    const newest = [...lines.all(), ...rows]
      .filter(({ message }) => message.id === id)
      .reduce((most, row) => (row.version > most.version ? row : most));
    const unit = this.#unitOf(done, done.generation);
    const at = { handler: done.handler, unit, seq: this.#tables.nextSeq(), tx: this.#tables.ids.pass() };
    const fresh = freshRow({ ...done.message, deliverAt: undefined }, at, this.#tables.nowMs());
    const { createdAtMs, generation, cycle } = done;
    const { payload, version } = newest;
    lines.add({ ...fresh, createdAtMs, generation, payload, version, cycle, rerun: done.rerun + 1 });
    this.#tables.poke(unit);
    this.#wake();
    return true;
  }

  /** Gives an open or dead delivery up; its key goes on. */
  discard(id: string, handler: string): boolean {
    return this.#change(this.#rows(id, handler, ['ready', 'waiting', 'failed']), (row) =>
      this.#tables.finish(row, 'discarded'),
    );
  }

  /** Takes back what is scheduled and has not been started. */
  cancel(id: string): boolean {
    const rows = this.#rows(id, undefined, ['waiting']).filter(
      ({ attempts, cycle, holds }) => attempts + cycle === 0 && !holds,
    );
    return this.#change(rows, (row) => this.#tables.finish(row, 'cancelled'));
  }

  /** Puts another payload in the place of the one that was sent; work on the old one is refused. */
  edit(id: string, payload: unknown): boolean {
    return this.#change(this.#rows(id, undefined, ['ready', 'waiting', 'failed']), (row) => {
      row.payload = JSON.stringify(payload);
      row.version += 1;
    });
  }

  /** Stops starting messages: of one handler, or of all. */
  pause(handler?: string): void {
    this.#setPaused(handler, true);
  }

  resume(handler?: string): void {
    this.#setPaused(handler, false);
  }

  /** So many runs of a handler at once in each process; nothing: as its code says. */
  limit(name: string, limit: number | undefined): void {
    for (const handler of this.#tables.handlers.values()) if (handler.name === name) handler.limit = limit;
  }

  /** Holds a breaker open until it is closed. */
  openBreaker(name: string): void {
    this.#setBreaker(name, 'open');
  }

  closeBreaker(name: string): void {
    this.#setBreaker(name, 'closed');
  }

  #setBreaker(name: string, state: 'open' | 'closed'): void {
    for (const breaker of this.#tables.breakers.values()) {
      if (breaker.name !== name) continue;
      const { epoch } = breaker;
      Object.assign(breaker, { state, epoch: epoch + 1, probes: 0, probeAtMs: undefined, prober: undefined });
    }
    this.#wake();
  }

  #setPaused(name: string | undefined, isPaused: boolean): void {
    const { handlers, lanes, settings } = this.#tables;
    const chosen = [...handlers.values()].filter((handler) => name === undefined || handler.name === name);
    if (name === undefined) this.#tables.isPaused = isPaused;
    else for (const handler of chosen) handler.isPaused = isPaused;
    const ids = new Set(chosen.map(({ id }) => id));
    for (const lane of lanes.values()) {
      if (!ids.has(lane.handler)) continue;
      for (let bucket = 0; bucket < settings.units; bucket++) this.#tables.poke(lane.id * settings.units + bucket);
    }
    this.#wake();
  }

  /** From its first attempt, at once. */
  #makeDue(row: MemoryRow): void {
    row.state = 'waiting';
    row.holds ||= row.message.key !== undefined;
    row.dueAtMs = this.#tables.nowMs();
    row.failures = row.error ? [...row.failures, row.error] : row.failures;
    row.attempts = 0;
    row.starts = 0;
    row.faults = undefined;
    row.retry = undefined;
    row.cycle += 1;
  }

  /** In the order they were sent. */
  #deadOf(name: string, key: string): readonly MemoryRow[] {
    const { handlers, lines } = this.#tables;
    const isOfIt = ({ handler, message, state }: MemoryRow): boolean =>
      state === 'failed' && message.key === key && handlers.get(handler)?.name === name;
    return lines.all().filter(isOfIt);
  }

  #rows(id: string, name: string | undefined, states: readonly MemoryRow['state'][]): readonly MemoryRow[] {
    const isNamed = (handler: HandlerRow | undefined): boolean => name === undefined || handler?.name === name;
    return this.#tables.lines
      .all()
      .filter(
        (row) => row.message.id === id && states.includes(row.state) && isNamed(this.#tables.handlers.get(row.handler)),
      );
  }

  #moveTo(row: MemoryRow, generation: number): void {
    this.#tables.lines.remove(row);
    row.generation = generation;
    row.unit = this.#unitOf(row, generation);
    this.#tables.lines.add(row);
  }

  /** In the line of a generation, or in lane 0 where that is not known. Handlers that are not pinned have one line for all. */
  #unitOf({ handler, message: { key, id } }: MemoryRow, generation: number | undefined): number {
    const isPinned = this.#tables.handlers.get(handler)?.isPinned ?? false;
    const lane = this.#tables.laneOf(handler, isPinned ? generation : undefined);
    return this.#tables.unitOf(lane?.id ?? 0, key ?? id);
  }

  #change(rows: readonly MemoryRow[], change: (row: MemoryRow) => void): boolean {
    if (rows.length === 0 || rows.some((row) => this.#tables.lockOf(row))) return false;
    for (const row of rows) {
      const before = row.unit;
      change(row);
      this.#tables.poke(before);
      if (row.unit !== before) this.#tables.poke(row.unit);
    }
    this.#tables.ids.pass();
    this.#wake();
    return true;
  }
}

/** Set aside behind a dead letter of its key; it has not failed itself. */
function isParked({ error }: MemoryRow): boolean {
  return error?.code === 'PARKED';
}
