import type { RetryState } from '../kernel/retry-state.ts';
import type { NewMessage } from '../outbox/outbox-store.ts';
import type { Faults } from '../relay/faults.ts';
import type { Delivery, DeliveryError, OpenState } from '../relay/relay-store.ts';

/** Where a row stands. `failed`: a dead letter. */
export type RowState = OpenState | 'failed';

/** One (message, handler) with something left to do. `handler` 0: none is known for the type. */
export interface MemoryRow {
  readonly message: NewMessage;
  readonly handler: number;
  readonly createdAtMs: number;
  /** That of its message, or the one it was replayed into. */
  generation: number | undefined;
  unit: number;
  seq: number;
  /** The transaction that made it ready. */
  tx: number;
  state: RowState;
  payload: string;
  version: number;
  holds: boolean;
  starts: number;
  faults: Faults | undefined;
  attempts: number;
  cycle: number;
  rerun: number;
  dueAtMs: number | undefined;
  retry: RetryState | undefined;
  error: DeliveryError | undefined;
  failedAtMs: number | undefined;
  /** The last cycle of whose end a copy was made elsewhere. */
  mirrored: number;
  firstFailedAtMs: number | undefined;
  /** The ends of its earlier cycles, the oldest first. */
  failures: readonly DeliveryError[];
}

/** How a delivery ended. */
export type Outcome = 'delivered' | 'discarded' | 'cancelled';

/** A finished delivery. */
export interface FinishedRow extends MemoryRow {
  readonly outcome: Outcome;
  readonly doneAtMs: number;
  readonly durationMs: number | undefined;
}

/** A row as it is when its message is sent. */
export function freshRow(
  message: NewMessage,
  at: Pick<MemoryRow, 'handler' | 'unit' | 'seq' | 'tx'>,
  nowMs: number,
): MemoryRow {
  const dueAtMs = message.deliverAt?.getTime();
  // A due time that has passed is no due time.
  const isScheduled = dueAtMs !== undefined && dueAtMs > nowMs;
  return {
    ...at,
    message,
    createdAtMs: nowMs,
    generation: message.generation,
    state: isScheduled ? 'waiting' : 'ready',
    payload: message.payload,
    version: 0,
    holds: false,
    starts: 0,
    faults: undefined,
    attempts: 0,
    cycle: 0,
    rerun: 0,
    dueAtMs: isScheduled ? dueAtMs : undefined,
    retry: undefined,
    error: undefined,
    failedAtMs: undefined,
    mirrored: -1,
    firstFailedAtMs: undefined,
    failures: [],
  };
}

/** The row as a worker reads it; a payload of more than `inlineChars` is left out. */
export function deliveryOf(row: MemoryRow, inlineChars: number): Delivery {
  const { message } = row;
  return {
    unit: row.unit,
    seq: row.seq,
    state: row.state === 'ready' ? 'ready' : 'waiting',
    version: row.version,
    id: message.id,
    type: message.type,
    key: message.key,
    payload: row.payload.length > inlineChars ? undefined : row.payload,
    attempts: row.attempts,
    cycle: row.cycle,
    rerun: row.rerun,
    retry: row.retry,
    starts: row.starts,
    faults: row.faults,
    idempotencyKey: message.idempotencyKey ?? message.id,
    source: message.source,
    target: message.target,
    aggregateType: message.aggregateType,
    aggregateId: message.aggregateId,
    generation: row.generation,
    correlationId: message.correlationId ?? message.id,
    causationId: message.causationId,
    traceparent: message.traceparent,
    tracestate: message.tracestate,
    headers: message.headers,
    createdAtMs: row.createdAtMs,
  };
}
