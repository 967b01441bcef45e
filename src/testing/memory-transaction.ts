import { HoldfastError } from '../kernel/error.ts';
import type { ForeignMessage, NewMessage, SendResult } from '../outbox/outbox-store.ts';
import { lanesFor } from './memory-registry.ts';
import { freshRow, type MemoryRow } from './memory-row.ts';
import type { MemoryTables } from './memory-tables.ts';

/** A transaction of the memory store: what is done in it is kept at its commit, all of it or nothing. */
export interface MemoryTransaction {
  /** Its id, once it has one. */
  readonly id: number | undefined;
  /** Adds to the list that `store.recorded()` gives: the effect of a handler in a test. */
  record(value: unknown): void;
  set(key: string, value: unknown): void;
  /** What this transaction set, or what was committed last. */
  get(key: string): unknown;
  /** Calls back in the moment it is committed. */
  onCommit(notify: () => void): void;
  commit(): void;
  rollback(): void;
}

/** How a transaction begins. */
export interface BeginOptions {
  /** Gets its id now; otherwise with its first write, as in PostgreSQL. */
  readonly idNow?: boolean | undefined;
}

export class OpenTransaction implements MemoryTransaction {
  readonly ended: Promise<void>;
  readonly #tables: MemoryTables;
  readonly #wakeSleepers: () => void;
  readonly #isOwned: boolean;
  #id: number | undefined;
  #isOpen = true;
  #wakes = false;
  #isQuiet = false;
  #end: () => void = () => undefined;
  readonly #rows: MemoryRow[] = [];
  readonly #dedup = new Map<string, string>();
  readonly #recorded: unknown[] = [];
  readonly #values = new Map<string, unknown>();
  readonly #keys: string[] = [];
  readonly #notify: (() => void)[] = [];

  /** `isOwned`: a session ends it, not who uses it. `wake` is called when a commit should wake sleepers. */
  constructor(tables: MemoryTables, wake: () => void, options: BeginOptions & { isOwned?: boolean } = {}) {
    this.#tables = tables;
    this.#wakeSleepers = wake;
    this.#isOwned = options.isOwned ?? false;
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
    if (options.idNow === true) this.ensureId();
  }

  get id(): number | undefined {
    return this.#id;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  ensureId(): number {
    this.#id ??= this.#tables.ids.begin();
    return this.#id;
  }

  record(value: unknown): void {
    this.#assertOpen();
    this.ensureId();
    this.#recorded.push(value);
  }

  set(key: string, value: unknown): void {
    this.#assertOpen();
    this.ensureId();
    this.#values.set(key, value);
  }

  get(key: string): unknown {
    return this.#values.has(key) ? this.#values.get(key) : this.#tables.values.get(key);
  }

  onCommit(notify: () => void): void {
    this.#assertOpen();
    this.#notify.push(notify);
  }

  commit(): void {
    this.#assertMine();
    this.finish(true);
  }

  rollback(): void {
    this.#assertMine();
    this.finish(false);
  }

  /** Ends it. Its rows become visible, its id is completed and its locks are free in one step. */
  finish(isKept: boolean): void {
    this.#assertOpen();
    this.#isOpen = false;
    const tables = this.#tables;
    if (isKept) {
      for (const row of this.#rows) tables.lines.add(row);
      const expiresAtMs = tables.nowMs() + tables.settings.dedupMs;
      for (const [key, id] of this.#dedup) tables.dedup.set(key, { id, expiresAtMs });
      for (const [key, value] of this.#values) tables.values.set(key, value);
      tables.recorded.push(...this.#recorded);
    }
    if (this.#id !== undefined) tables.ids.end(this.#id);
    for (const key of this.#keys) tables.keyLocks.delete(key);
    this.#end();
    if (!isKept) return;
    for (const notify of this.#notify) notify();
    if (this.#wakes && !this.#isQuiet) this.#wakeSleepers();
  }

  async append(messages: readonly NewMessage[]): Promise<readonly SendResult[]> {
    this.#assertOpen();
    if (this.#tables.isFull) throw new HoldfastError('OUTBOX_FULL', {});
    const strict = messages.flatMap(({ strict: isStrict, key }) =>
      isStrict && key !== undefined ? [`order ${key}`] : [],
    );
    const once = messages.flatMap(({ idempotencyKey: key }) => (key === undefined ? [] : [`once ${key}`]));
    // Sorted, so that two senders with the same keys wait for each other and not in a circle.
    for (const key of [...new Set([...strict, ...once])].sort()) await this.#lockKey(key);
    this.#assertOpen();
    this.#isQuiet ||= messages.some(({ wake }) => wake === false);
    this.#wakes ||= this.#tables.waiters.size > 0;
    return messages.map((message) => this.#append(message));
  }

  #append(message: NewMessage): SendResult {
    const { idempotencyKey: key, id } = message;
    const nowMs = this.#tables.nowMs();
    if (key !== undefined) {
      const committed = this.#tables.dedup.get(key);
      const known = this.#dedup.get(key) ?? (committed && committed.expiresAtMs > nowMs ? committed.id : undefined);
      if (known !== undefined) return { kind: 'duplicate', id: known };
      this.#dedup.set(key, id);
    }
    this.#fanOut(message);
    return { kind: 'stored', id };
  }

  /** Stores what came from elsewhere. It was not there before. */
  receive(messages: readonly ForeignMessage[]): void {
    if (this.#tables.isFull) throw new HoldfastError('OUTBOX_FULL', {});
    this.#wakes ||= this.#tables.waiters.size > 0;
    for (const message of messages) this.#fanOut(message);
  }

  #fanOut(message: NewMessage): void {
    const nowMs = this.#tables.nowMs();
    for (const { handler, lane } of lanesFor(this.#tables, message)) {
      const unit = this.#tables.unitOf(lane, message.key ?? message.id);
      const seq = this.#tables.nextSeq();
      this.#rows.push(freshRow(message, { handler, unit, seq, tx: this.ensureId() }, nowMs));
    }
  }

  async #lockKey(key: string): Promise<void> {
    const locks = this.#tables.keyLocks;
    for (let holder = locks.get(key); holder && holder !== this; holder = locks.get(key)) await holder.ended;
    if (locks.get(key) === this || !this.#isOpen) return;
    locks.set(key, this);
    this.#keys.push(key);
  }

  #assertMine(): void {
    if (this.#isOwned) throw new TypeError('this transaction is committed by ctx.commit; leave its end to it');
  }

  #assertOpen(): void {
    if (!this.#isOpen) throw new HoldfastError('TRANSACTION_NOT_OPEN', { client: 'memory' });
  }
}
