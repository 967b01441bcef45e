import { OptionCheck } from '../kernel/check-options.ts';
import type { Effects } from '../kernel/effects.ts';
import { HoldfastError } from '../kernel/error.ts';
import { systemEffects } from '../system/effects.ts';
import type { IdempotencyStore } from './idempotency-store.ts';
import {
  claimRecord,
  endRecord,
  eraseRecord,
  renewRecord,
  shownRecord,
  type Step,
  type StoredRecord,
} from './record-rules.ts';

/** What `memoryIdempotency` takes. Every field may be left out. */
export interface MemoryIdempotencyOptions {
  /** How many records are kept. Default 10,000. */
  readonly maxRecords?: number | undefined;
  /** How many bytes they may take, roughly: replies, and 500 for each record. Default: 64 MiB. */
  readonly maxBytes?: number | undefined;
  /** Clock; for tests. */
  readonly effects?: Effects | undefined;
}

const MAX_RECORDS = 10_000;
const MAX_BYTES = 64 * 1_048_576;
// What a record takes besides its reply: five texts, as many numbers and two places in maps.
const RECORD_BYTES = 500;

/**
 * Records in the memory of this process, for tests and for services of one process whose restart may forget them. When it is full the
 * finished record that was not asked for the longest goes; one that runs or whose outcome is unknown is never dropped: when only such
 * are left, claims are refused with `IDEMPOTENCY_STORE_FULL`. A reply that alone is larger than `maxBytes` is not kept.
 */
export function memoryIdempotency(options: MemoryIdempotencyOptions = {}): IdempotencyStore {
  checkMemoryOptions(options);
  const { maxRecords = MAX_RECORDS, maxBytes = MAX_BYTES, effects = systemEffects } = options;
  const records = new BoundedRecords(maxRecords, maxBytes);
  const { wallMs, monoMs } = effects.now();
  // Leases must not end because somebody sets the clock.
  const now = (): number => wallMs - monoMs + effects.monoMs();
  const step = <Answer>(id: string, take: (found: StoredRecord | undefined) => Step<Answer>): Answer => {
    const { answer, record } = take(records.get(id));
    if (record === undefined) records.delete(id);
    else records.set(record, now());
    return answer;
  };
  return {
    claim: async (claim) => step(claim.id, (found) => claimRecord(found, claim, now())),
    renew: async (claim) => step(claim.id, (found) => renewRecord(found, claim, now())),
    end: async (claim, end) => step(claim.id, (found) => endRecord(found, claim, end, now())),
    find: async (id) => {
      const found = records.get(id);
      return found && found.expiresAt > now() ? shownRecord(found, now()) : undefined;
    },
    erase: async (person) => {
      const found = records.where((record) => record.person === person);
      for (const record of found) records.set(eraseRecord(record), now());
      // What has expired is forgotten too, and not counted.
      return found.filter(({ expiresAt }) => expiresAt > now()).length;
    },
    reap: async (limit) => records.reap(limit, now()),
  };
}

function checkMemoryOptions(options: MemoryIdempotencyOptions): void {
  const check = new OptionCheck('memoryIdempotency()');
  if (check.object('options', options, 'pass an object, or leave it out')) {
    check.known(options, ['maxRecords', 'maxBytes', 'effects']);
    for (const name of ['maxRecords', 'maxBytes'] as const) {
      const value = options[name];
      if (value !== undefined)
        check.number(name, value, { min: 1, integer: true, write: 'write a whole number from 1' });
    }
  }
  check.done();
}

/** Records by id, no more than there is room for. Those that may go stand apart, the one that was used last at the end. */
class BoundedRecords {
  readonly #open = new Map<string, StoredRecord>();
  readonly #finished = new Map<string, StoredRecord>();
  readonly #maxRecords: number;
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxRecords: number, maxBytes: number) {
    this.#maxRecords = maxRecords;
    this.#maxBytes = maxBytes;
  }

  get(id: string): StoredRecord | undefined {
    return this.#open.get(id) ?? this.#finished.get(id);
  }

  delete(id: string): void {
    const found = this.get(id);
    if (!found) return;
    this.#bytes -= bytesOf(found);
    this.#open.delete(id);
    this.#finished.delete(id);
  }

  /** Also when it is the same as before: it counts as used. Throws `IDEMPOTENCY_STORE_FULL` for a new one without room. */
  set(record: StoredRecord, now: number): void {
    const before = this.get(record.id);
    this.delete(record.id);
    const isLarge = bytesOf(record) > this.#maxBytes;
    const hasRoom = !isLarge && this.#makeRoom(bytesOf(record), now);
    if (!hasRoom && !before) throw new HoldfastError('IDEMPOTENCY_STORE_FULL', { records: this.#open.size });
    // What was done stays known, if only that.
    const kept = hasRoom ? record : { ...record, reply: null };
    this.#bytes += bytesOf(kept);
    const isFinished = kept.status === 'completed' || kept.status === 'failed';
    (isFinished ? this.#finished : this.#open).set(kept.id, kept);
  }

  where(fits: (record: StoredRecord) => boolean): readonly StoredRecord[] {
    return [...this.#open.values(), ...this.#finished.values()].filter(fits);
  }

  reap(limit: number, now: number): number {
    const expired = this.where((record) => record.expiresAt <= now).slice(0, limit);
    for (const { id } of expired) this.delete(id);
    return expired.length;
  }

  #makeRoom(bytes: number, now: number): boolean {
    for (const { id } of this.#finished.values()) {
      if (this.#hasRoom(bytes)) return true;
      this.delete(id);
    }
    // An open record that has expired holds nothing any more.
    return this.#hasRoom(bytes) || (this.reap(Infinity, now) > 0 && this.#hasRoom(bytes));
  }

  #hasRoom(bytes: number): boolean {
    const count = this.#open.size + this.#finished.size;
    return count < this.#maxRecords && this.#bytes + bytes <= this.#maxBytes;
  }
}

function bytesOf({ reply }: StoredRecord): number {
  // Texts take up to two bytes a character.
  return RECORD_BYTES + (reply === null ? 0 : 2 * reply.head.length + (reply.body?.byteLength ?? 0));
}
