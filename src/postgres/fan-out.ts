import { HoldfastError } from '../kernel/error.ts';
import type { NewMessage } from '../outbox/outbox-store.ts';
import { PERSON_HEADER } from '../outbox/stored-payload.ts';

/** What `isFull` answers. */
export const FULL = 'full';

/**
 * The messages of $1, as rows `m`. Every value travels as text in one JSON parameter and is cast here: the drivers disagree on
 * arrays, dates and bigints, but not on text (see sql-runner.ts). It is no slower: 1,000 rows took 27.6 ms this way, 26.4 ms as
 * text arrays.
 */
export const MESSAGE_INPUT = `rows from (json_to_recordset($1::text::json) as (
    id uuid, type text, key text, payload jsonb, idempotency_key text, source text, target text, aggregate_type text,
    aggregate_id text, generation bigint, correlation_id text, causation_id text, traceparent text, tracestate text,
    headers jsonb, due_at timestamptz, source_id text, taken_as text)) with ordinality as m (id, type, key, payload, idempotency_key, source,
    target, aggregate_type, aggregate_id, generation, correlation_id, causation_id, traceparent, tracestate, headers, due_at,
    source_id, taken_as, place)`;

/**
 * One delivery for each handler that takes the type, or one in lane 0, where nobody reads, when none is known. The bucket is made
 * of the first two bytes of sha256 of the key, or of the id where there is no key: messages of one key share a unit, the
 * others spread. A due time that has passed is no due time. `units` is how many units a lane has.
 *
 * In the order of the call: with "offset 0" this cannot be anything but a loop over the messages, which keeps their order and
 * needs no sort. Whoever adds a condition that could be turned into a join adds an order too. `input` is where the rows `m` come from,
 * `payload` what is stored of each.
 */
export function fanOut(
  schema: string,
  units: string,
  input: string = MESSAGE_INPUT,
  payload: string = 'm.payload',
): string {
  return `insert into ${schema}.delivery (id, handler, unit, state, due_at, type, key, payload, idempotency_key, source, target,
      aggregate_type, aggregate_id, generation, correlation_id, causation_id, traceparent, tracestate, headers, taken_as)
    select m.id, coalesce(s.handler, 0),
      coalesce(s.lane, 0) * ${units} + ('x' || encode(substring(sha256(convert_to(coalesce(m.key, m.id::text), 'UTF8'))
        from 1 for 2), 'hex'))::bit(16)::int % ${units},
      case when m.due_at > statement_timestamp() then 1 else 0 end, case when m.due_at > statement_timestamp() then m.due_at end,
      m.type, m.key, ${payload}, m.idempotency_key, m.source, m.target, m.aggregate_type, m.aggregate_id,
      m.generation, m.correlation_id, m.causation_id, m.traceparent, m.tracestate, m.headers,
      case when s.handler is null then m.taken_as end
    from ${input}
    left join lateral (
      select s.handler, (
        select l.id from ${schema}.lane l where l.handler = s.handler
          and l.generation is not distinct from (case when s.is_pinned then m.generation end)) as lane
      from ${schema}.subscription s where s.type = coalesce(m.taken_as, m.type) offset 0) s on true`;
}

/** True when one of the messages has a correlation or causation id of its own, or is about somebody: then it can be found by that. */
export function hasLinks(messages: readonly NewMessage[]): boolean {
  return messages.some(
    ({ id, correlationId, causationId, headers }) =>
      (correlationId ?? id) !== id || causationId !== undefined || headers?.[PERSON_HEADER] !== undefined,
  );
}

/** How much of an id is looked up by: an index takes no value of any length. */
export const LINK_LENGTH = 200;

/** What stands before a person in a link: it is no id of an action. */
export const PERSON_LINK = 'person:';

/** Writes by which ids the messages `m` that fit the condition belong together. `input` as in `fanOut`. */
export function linkMessages(schema: string, condition: string, input: string): string {
  // As rows of their own and not as indexes on the messages: those would be needed in every slot of the history.
  return `insert into ${schema}.trace_link (id, message)
    select left(l.id, ${LINK_LENGTH}), m.id from ${input}
      cross join lateral (
        select m.correlation_id as id where m.correlation_id is not null
        union all select m.causation_id where m.causation_id is distinct from m.correlation_id and m.causation_id is not null
        union all select '${PERSON_LINK}' || (m.headers ->> '${PERSON_HEADER}') where m.headers ->> '${PERSON_HEADER}' is not null) l
    where not (select is_full from ${schema}.meta) and (${condition})`;
}

/** As `fanOut`, of the messages `m` that fit the condition, and only while there is room. */
export function fanOutWhere(schema: string, condition: string, input: string = MESSAGE_INPUT): string {
  // Not joined: the planner takes a table of one row that was never analysed for about 2,000, and multiplies its estimates.
  return `${fanOut(schema, `(select units from ${schema}.meta)`, input)}
    where not (select is_full from ${schema}.meta) and (${condition}) order by m.place`;
}

/**
 * One row when the outbox is full. A role that may only insert cannot use RETURNING: whether there was room is asked beside it, in
 * the same snapshot.
 */
export function isFull(schema: string): string {
  return `select '${FULL}' as id from ${schema}.meta where is_full`;
}

/** Throws `OUTBOX_FULL` if `isFull` answered. */
export function refuseIfFull(rows: readonly Record<string, unknown>[]): void {
  if (rows.some((row) => row['id'] === FULL)) throw new HoldfastError('OUTBOX_FULL', {});
}

/** The messages as the JSON text the statements read. The payload is JSON already and goes in as it is. */
export function messageInput(messages: readonly (NewMessage & { readonly sourceId?: string })[]): string {
  const rows = messages.map((message) => {
    const row = JSON.stringify({
      id: message.id,
      type: message.type,
      taken_as: message.takenAs,
      key: message.key,
      idempotency_key: message.idempotencyKey,
      source: message.source,
      target: message.target,
      aggregate_type: message.aggregateType,
      aggregate_id: message.aggregateId,
      generation: message.generation,
      correlation_id: message.correlationId === message.id ? undefined : message.correlationId,
      causation_id: message.causationId,
      traceparent: message.traceparent,
      tracestate: message.tracestate,
      headers: message.headers,
      due_at: message.deliverAt?.toISOString(),
      source_id: message.sourceId,
    });
    return `${row.slice(0, -1)},"payload":${message.payload}}`;
  });
  return `[${rows.join(',')}]`;
}
