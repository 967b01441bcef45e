import type { RetryState } from '../kernel/retry-state.ts';
import type { NewMessage } from '../outbox/outbox-store.ts';
import type { Delivery, DeliveryError } from '../relay/relay-store.ts';
import { jsonText, type StoredJson, storedJson } from './stored-json.ts';

/** `waiting`: tried and failed, to be tried again at `dueAt`. `dead`: failed for good. Both hold up later ones of their key. */
export type RowState = 'open' | 'waiting' | 'dead' | 'done' | 'discarded';

/** A message of a collection, on its way out or come in. */
export interface Row {
  readonly _id: string;
  /** Whose it is. */
  readonly service: string;
  readonly eventType: string;
  readonly key: string | null;
  readonly aggType: string | null;
  readonly aggId: string | null;
  /** JSON text. */
  readonly payload: string;
  readonly createdAt: Date;
  readonly traceparent: string | null;
  /** Empty: none. */
  readonly tracestate: string;
  /** Its place in line: greater than that of every message of its key before it. */
  readonly seq: number;
  readonly state: RowState;
  /** Ended attempts since it was written or replayed. */
  readonly attempts: number;
  readonly replays: number;
  readonly dueAt: Date | null;
  readonly retry: RetryState | null;
  readonly error: DeliveryError | null;
  /** Why it is dead. */
  readonly reason: string | null;
  readonly deadAt: Date | null;
  /** When it was done or discarded; the server removes it some time after that. */
  readonly endedAt: Date | null;
  readonly source: string;
  readonly target: string | null;
  readonly generation: number | null;
  readonly idempotencyKey: string | null;
  readonly correlationId: string | null;
  readonly causationId: string | null;
  readonly headers: readonly (readonly [name: string, value: string])[];
}

/** A row as it lies in its collection: with a payload that people and queries can read. */
export type StoredRow = Omit<Row, 'payload'> & { readonly payload: StoredJson };

/** A message in the outbox. */
export interface OutboxRow extends Row {
  /** When a broker had it. `null` for ever: it was discarded. */
  readonly publishedAt: Date | null;
}

/** A message in the inbox. Once it is processed, its payload is gone and its id is kept. */
export interface InboxRow extends Row {
  /** Where it was found first: `kafka:topic@partition@offset`, `amqp:exchange@routingKey@id`. */
  readonly sourceId: string;
  /** When it arrived last; later than `createdAt` when it came again. */
  readonly lastArrivedAt: Date;
  /** When its effect was committed. `null` for ever: it was discarded. */
  readonly firstProcessedAt: Date | null;
  /** The same, or when it arrived last after that, which had no effect. */
  readonly lastProcessedAt: Date | null;
  /** A copy is where the broker keeps dead letters. */
  readonly isMirrored: boolean;
}

/** A new row of a message. */
export function rowOf(message: NewMessage, about: Pick<Row, '_id' | 'service' | 'seq' | 'createdAt'>): Row {
  const { type, payload, source } = message;
  return {
    ...about,
    eventType: type,
    key: message.key ?? null,
    aggType: message.aggregateType ?? null,
    aggId: message.aggregateId ?? null,
    payload,
    traceparent: message.traceparent ?? null,
    tracestate: message.tracestate ?? '',
    state: 'open',
    attempts: 0,
    replays: 0,
    dueAt: null,
    retry: null,
    error: null,
    reason: null,
    deadAt: null,
    endedAt: null,
    source,
    target: message.target ?? null,
    generation: message.generation ?? null,
    idempotencyKey: message.idempotencyKey ?? null,
    correlationId: message.correlationId ?? null,
    causationId: message.causationId ?? null,
    // In pairs: what others call their headers may hold dots and dollar signs.
    headers: Object.entries(message.headers ?? {}),
  };
}

/** A row as it is written. */
export function storedRow(row: Row): StoredRow {
  return { ...row, payload: storedJson(row.payload) };
}

/** The row that was written. */
export function readRow(stored: StoredRow): Row {
  return { ...stored, payload: jsonText(stored.payload) };
}

/** The row as the parts of a relay know it. */
export function deliveryOf(row: Row, id: string): Delivery {
  return {
    unit: 0,
    seq: row.seq,
    state: row.state === 'waiting' ? 'waiting' : 'ready',
    version: 0,
    id,
    type: row.eventType,
    key: row.key ?? undefined,
    payload: row.payload,
    attempts: row.attempts,
    cycle: row.replays,
    rerun: 0,
    retry: row.retry ?? undefined,
    starts: 0,
    idempotencyKey: row.idempotencyKey ?? id,
    source: row.source,
    target: row.target ?? undefined,
    aggregateType: row.aggType ?? undefined,
    aggregateId: row.aggId ?? undefined,
    generation: row.generation ?? undefined,
    correlationId: row.correlationId ?? undefined,
    causationId: row.causationId ?? undefined,
    traceparent: row.traceparent ?? undefined,
    tracestate: row.tracestate || undefined,
    headers: row.headers.length > 0 ? Object.fromEntries(row.headers) : undefined,
    createdAtMs: row.createdAt.getTime(),
  };
}
