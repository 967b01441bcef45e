import type { Faults } from '../../relay/faults.ts';
import type { Delivery, OpenState } from '../../relay/relay-store.ts';
import type { RetryState } from '../../kernel/retry-state.ts';
import type { Row } from '../driver/driver.ts';

/** A payload above this many stored bytes is not read ahead: it is fetched when its message is started. */
const READ_AHEAD_BYTES = 32_768;
/** Nor is one that is longer than this as text: what a sender makes of one letter is stored a hundred times smaller. */
const READ_AHEAD_LENGTH = 131_072;
/** What is stored in so many bytes is not longer than that: looking is spared, for nearly all messages. */
const SURELY_SHORT_BYTES = 1_024;

/** How many columns `deliveryColumns` gives. */
export const DELIVERY_WIDTH = 10;

/**
 * The columns of a delivery row `d` as they travel: what nearly every message has as columns, the rest as one JSON text that is
 * null where everything in it is as usual. Most of what a drain costs is the decoding of columns.
 */
export function deliveryColumns(payload: 'always' | 'small'): string {
  const isShort = `pg_column_size(d.payload) <= ${SURELY_SHORT_BYTES} or pg_column_size(d.payload) <= ${READ_AHEAD_BYTES}
    and octet_length(d.payload::text) <= ${READ_AHEAD_LENGTH}`;
  const small = `case when ${isShort} then d.payload::text end`;
  return `d.unit, d.seq, d.id, d.type, d.key, ${payload === 'always' ? 'd.payload::text' : small}, d.source,
    (date_part('epoch', d.created_at) * 1000)::bigint, d.traceparent,
    case when d.version = 0 and d.attempts = 0 and d.cycle = 0 and d.rerun = 0 and d.starts = 0 and d.retry is null and d.faults is null
        and d.target is null and d.aggregate_type is null and d.aggregate_id is null and d.generation is null
        and d.causation_id is null and d.tracestate is null and d.headers is null
        and d.idempotency_key is null and d.correlation_id is null
      then null
      else json_build_array(d.version, d.attempts, d.cycle, d.rerun, d.starts, d.retry, d.idempotency_key, d.target,
        d.aggregate_type, d.aggregate_id, d.generation, d.correlation_id, d.causation_id, d.tracestate, d.headers, d.faults)::text end`;
}

type Text = string | null;

type Rest = readonly [
  version: number,
  attempts: number,
  cycle: number,
  rerun: number,
  starts: number,
  retry: RetryState | null,
  idempotencyKey: Text,
  target: Text,
  aggregateType: Text,
  aggregateId: Text,
  generation: number | null,
  correlationId: Text,
  causationId: Text,
  tracestate: Text,
  headers: Readonly<Record<string, string>> | null,
  faults: Faults | null,
];

const USUAL: Rest = [0, 0, 0, 0, 0, null, null, null, null, null, null, null, null, null, null, null];

/** Reads the columns of `deliveryColumns`, of which the first is `row[at]`. */
export function decodeDelivery(row: Row, at: number, state: OpenState): Delivery {
  const id = row[at + 2] as string;
  const rest = row[at + 9] as Text;
  const [version, attempts, cycle, rerun, starts, retry, idempotencyKey, target, aggregateType, aggregateId, ...more] =
    rest === null ? USUAL : (JSON.parse(rest) as Rest);
  const [generation, correlationId, causationId, tracestate, headers, faults] = more;
  return {
    unit: Number(row[at]),
    seq: Number(row[at + 1]),
    state,
    version,
    id,
    type: row[at + 3] as string,
    key: (row[at + 4] as Text) ?? undefined,
    payload: (row[at + 5] as Text) ?? undefined,
    attempts,
    cycle,
    rerun,
    retry: retry ?? undefined,
    starts,
    faults: faults ?? undefined,
    idempotencyKey: idempotencyKey ?? id,
    source: row[at + 6] as string,
    target: target ?? undefined,
    aggregateType: aggregateType ?? undefined,
    aggregateId: aggregateId ?? undefined,
    generation: generation ?? undefined,
    correlationId: correlationId ?? id,
    causationId: causationId ?? undefined,
    traceparent: (row[at + 8] as Text) ?? undefined,
    tracestate: tracestate ?? undefined,
    headers: headers ?? undefined,
    createdAtMs: Number(row[at + 7]),
  };
}
