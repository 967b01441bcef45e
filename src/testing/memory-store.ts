import { OptionCheck } from '../kernel/check-options.ts';
import type { Effects } from '../kernel/effects.ts';
import { HoldfastError } from '../kernel/error.ts';
import type { DeliveryError, News, RelayStore } from '../relay/relay-store.ts';
import { systemEffects } from '../system/effects.ts';
import type { Fault, FaultPoint } from './memory-fault.ts';
import { MemoryOperator } from './memory-operator.ts';
import type { MemoryRow, Outcome, RowState } from './memory-row.ts';
import { MemorySession } from './memory-session.ts';
import { MemoryTables } from './memory-tables.ts';
import { type BeginOptions, type MemoryTransaction, OpenTransaction } from './memory-transaction.ts';

/** What `memoryStore` takes. Every field may be left out. */
export interface MemoryStoreOptions {
  /** Its clock: due times, leases and the history go by it. Default: the system's. */
  readonly effects?: Effects | undefined;
  /** Slices of a handler's key space. Default 32. */
  readonly units?: number | undefined;
  /** Asked at every step of every call of a session whether something goes wrong there. Default: nothing does. */
  readonly fault?: ((point: FaultPoint) => Fault | undefined) | undefined;
  /** How many late rows one read gives before it asks the reader to begin anew. Default 10,000. */
  readonly lateLimit?: number | undefined;
  /** Payloads of more characters are not read ahead. Default 32,768. */
  readonly inlineChars?: number | undefined;
  /** How long an explicit idempotency key is remembered, in milliseconds. Default: seven days. */
  readonly dedupMs?: number | undefined;
}

/** A delivery as the memory store shows it. */
export interface MemoryDelivery {
  readonly id: string;
  readonly type: string;
  readonly key: string | undefined;
  readonly payload: unknown;
  /** Absent: no handler is known for the type. */
  readonly handler: string | undefined;
  readonly attempts: number;
  readonly version: number;
  readonly cycle: number;
  readonly rerun: number;
  readonly generation: number | undefined;
  readonly seq: number;
  readonly unit: number;
  readonly error: DeliveryError | undefined;
}

/** A delivery that is not finished. */
export interface OpenMemoryDelivery extends MemoryDelivery {
  readonly state: RowState;
  /** Later messages of its key wait behind it. */
  readonly holds: boolean;
  readonly starts: number;
}

/** A finished delivery. */
export interface FinishedMemoryDelivery extends MemoryDelivery {
  readonly outcome: Outcome;
}

/** A store in memory, for tests: the same promises as PostgreSQL's, and a look at everything in it. */
export interface MemoryStore extends RelayStore<MemoryTransaction> {
  openRelay(): Promise<MemorySession>;
  /** As `openRelay`, at once. */
  openSession(): MemorySession;
  begin(options?: BeginOptions): MemoryTransaction;
  /** What operators do. */
  readonly operator: MemoryOperator;
  /** Everything unfinished, dead letters too, in the order of sending. */
  deliveries(): readonly OpenMemoryDelivery[];
  deadLetters(): readonly OpenMemoryDelivery[];
  /** What is finished and still kept, in the order of finishing. */
  delivered(): readonly FinishedMemoryDelivery[];
  /** What committed transactions recorded, in the order of their commits. */
  recorded(): readonly unknown[];
  /** What was committed under this key. */
  get(key: string): unknown;
  /** Who owns a unit, and under which epoch. */
  lease(unit: number): { readonly owner: string | undefined; readonly epoch: number } | undefined;
}

const FIELDS: readonly (keyof MemoryStoreOptions)[] = [
  'effects',
  'units',
  'fault',
  'lateLimit',
  'inlineChars',
  'dedupMs',
];
const WEEK_MS = 7 * 86_400_000;

/** Makes an empty store. */
export function memoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  const tables = tablesFor(options);
  const sessions: MemorySession[] = [];
  const tellAll = (news: News): void => {
    for (const session of sessions) session.hear(news);
  };
  const wake = (): void => tellAll('messages');
  const openSession = (): MemorySession => {
    const session = new MemorySession(tables, sessions.length + 1, tellAll);
    sessions.push(session);
    return session;
  };
  return {
    operator: new MemoryOperator(tables, wake),
    begin: (how) => new OpenTransaction(tables, wake, how),
    async append(tx, messages) {
      if (!(tx instanceof OpenTransaction)) throw new HoldfastError('TRANSACTION_UNKNOWN', { found: typeof tx });
      return tx.append(messages);
    },
    openSession,
    openRelay: async () => openSession(),
    deliveries: () => tables.lines.all().map((row) => openOf(tables, row)),
    deadLetters: () =>
      tables.lines
        .all()
        .filter(({ state }) => state === 'failed')
        .map((row) => openOf(tables, row)),
    delivered: () => tables.finished.map((row) => ({ ...shown(tables, row), outcome: row.outcome })),
    recorded: () => [...tables.recorded],
    get: (key) => tables.values.get(key),
    lease: (unit) => tables.leases.get(unit),
  };
}

function tablesFor(options: MemoryStoreOptions): MemoryTables {
  const check = new OptionCheck('memoryStore()');
  const { effects = systemEffects, units = 32, fault = () => undefined } = options;
  const { lateLimit = 10_000, inlineChars = 32_768, dedupMs = WEEK_MS } = options;
  check.known(options, FIELDS);
  check.number('units', units, { min: 1, max: 1024, integer: true, write: 'write a whole number from 1 to 1024' });
  for (const [name, value] of Object.entries({ lateLimit, inlineChars, dedupMs })) {
    check.number(name, value, { min: 0, integer: true, write: 'write a whole number from 0' });
  }
  check.done();
  return new MemoryTables({ effects, units, fault, lateLimit, inlineChars, dedupMs });
}

function openOf(tables: MemoryTables, row: MemoryRow): OpenMemoryDelivery {
  return { ...shown(tables, row), state: row.state, holds: row.holds, starts: row.starts };
}

function shown(tables: MemoryTables, row: MemoryRow): MemoryDelivery {
  const { id, type, key } = row.message;
  const { attempts, version, cycle, rerun, generation, seq, unit, error } = row;
  const handler = tables.handlers.get(row.handler)?.name;
  const payload: unknown = JSON.parse(row.payload);
  return { id, type, key, payload, handler, attempts, version, cycle, rerun, generation, seq, unit, error };
}
