import type { NewMessage, SendResult } from '../outbox/new-message.ts';
import type { SqlRunner } from './sql-runner.ts';

// Every value of a message travels as text in one JSON parameter and is cast here: the drivers disagree on arrays, dates and
// bigints, but not on text (see sql-runner.ts). It is no slower: 1,000 rows took 27.6 ms this way, 26.4 ms as text arrays.
const INPUT = `json_to_recordset($1::text::json) as m (
    id uuid, type text, key text, payload jsonb, idempotency_key text, source text, target text, aggregate_type text,
    aggregate_id text, generation bigint, correlation_id text, causation_id text, traceparent text, tracestate text,
    headers jsonb, due_at timestamptz)`;

/** The statements of sending, for one schema. */
export interface AppendStatements {
  readonly messageInsert: string;
  readonly messageInsertOnce: string;
  readonly dedupFind: string;
  readonly keyLock: string;
}

/** Writes the statements for a quoted schema. `dedupMs` is how long an explicit idempotency key is remembered. */
export function appendStatements(schema: string, channel: string, dedupMs: number): AppendStatements {
  // The unit is the first two bytes of sha256 of the key, or of the id where there is no key: messages of one key share a
  // unit, the others spread. A due time that has passed is no due time.
  const insert = `insert into ${schema}.message (id, type, key, payload, idempotency_key, source, target, aggregate_type,
      aggregate_id, generation, correlation_id, causation_id, traceparent, tracestate, headers, unit, state, due_at)
    select m.id, m.type, m.key, m.payload, coalesce(m.idempotency_key, m.id::text), m.source, m.target, m.aggregate_type,
      m.aggregate_id, m.generation, m.correlation_id, m.causation_id, m.traceparent, m.tracestate, m.headers,
      (get_byte(h.hash, 0) * 256 + get_byte(h.hash, 1)) % (select units from ${schema}.meta),
      case when m.due_at > clock_timestamp() then 2 else 0 end,
      case when m.due_at > clock_timestamp() then m.due_at end
    from ${INPUT}
    cross join lateral (select sha256(convert_to(coalesce(m.key, m.id::text), 'UTF8')) as hash) h`;
  // A NOTIFY only if somebody sleeps: one in each commit would put all senders behind one lock. And none when the queue of
  // notifications is half full: a full one would fail the caller's commit, and sleepers look again by themselves anyway.
  const wake = `select pg_notify('${channel}', '')::text as id from ${schema}.waiter
    where pg_notification_queue_usage() < 0.5 limit 1`;
  return {
    messageInsert: `with sent as (${insert}) select null as id from (${wake}) woken`,
    // Keys go in sorted, so that two senders with the same keys in another order wait for each other and do not deadlock.
    messageInsertOnce: `with fresh as (
        insert into ${schema}.dedup (key, id, expires_at)
        select m.idempotency_key, m.id, now() + interval '${dedupMs} milliseconds' from ${INPUT}
        where m.idempotency_key is not null order by m.idempotency_key
        on conflict (key) do update set id = excluded.id, expires_at = excluded.expires_at
        where dedup.expires_at <= now()
        returning id),
      sent as (${insert} where m.idempotency_key is null or m.id in (select id from fresh)),
      woken as materialized (${wake})
      select id::text as id from fresh union all select null from woken`,
    dedupFind: `select key, id::text as id from ${schema}.dedup
      where key in (select json_array_elements_text($1::text::json))`,
    keyLock: `select pg_advisory_xact_lock(hashtextextended('${schema} ' || key, 0))::text
      from json_array_elements_text($1::text::json) as key`,
  };
}

/** Writes the messages through the caller's transaction: one round trip, two where idempotency keys were given before. */
export async function append(
  sql: SqlRunner,
  statements: AppendStatements,
  messages: readonly NewMessage[],
): Promise<readonly SendResult[]> {
  const strictKeys = messages.flatMap(({ strict, key }) => (strict && key !== undefined ? [key] : []));
  if (strictKeys.length > 0) {
    const sorted = [...new Set(strictKeys)].sort();
    await sql.query(statements.keyLock, [JSON.stringify(sorted)]);
  }
  const firstOf = firstOfEachKey(messages);
  const input = rowsOf(messages.filter((message) => firstIdOf(message, firstOf) === message.id));
  if (firstOf.size === 0) {
    await sql.query(statements.messageInsert, [input]);
    return messages.map(({ id }) => ({ kind: 'stored', id }));
  }
  const fresh = new Set((await sql.query(statements.messageInsertOnce, [input])).map((row) => row['id']));
  const known = await findKnown(
    sql,
    statements,
    [...firstOf].filter(([, id]) => !fresh.has(id)),
  );
  return messages.map((message) => resultOf(message, firstIdOf(message, firstOf), known));
}

/** The first message with each idempotency key: of two in one call, the first is stored and the second is its duplicate. */
function firstOfEachKey(messages: readonly NewMessage[]): ReadonlyMap<string, string> {
  const firstOf = new Map<string, string>();
  for (const { idempotencyKey, id } of messages) {
    if (idempotencyKey !== undefined && !firstOf.has(idempotencyKey)) firstOf.set(idempotencyKey, id);
  }
  return firstOf;
}

function firstIdOf({ idempotencyKey, id }: NewMessage, firstOf: ReadonlyMap<string, string>): string {
  return (idempotencyKey === undefined ? undefined : firstOf.get(idempotencyKey)) ?? id;
}

function resultOf(message: NewMessage, firstId: string, known: ReadonlyMap<string, string>): SendResult {
  const existing = known.get(message.idempotencyKey ?? '');
  if (existing !== undefined) return { kind: 'duplicate', id: existing };
  return firstId === message.id ? { kind: 'stored', id: message.id } : { kind: 'duplicate', id: firstId };
}

/** Whose messages the keys belong to that were not stored just now. */
async function findKnown(
  sql: SqlRunner,
  statements: AppendStatements,
  taken: readonly (readonly [key: string, id: string])[],
): Promise<ReadonlyMap<string, string>> {
  if (taken.length === 0) return new Map();
  const rows = await sql.query(statements.dedupFind, [JSON.stringify(taken.map(([key]) => key))]);
  return new Map(rows.map((row) => [String(row['key']), String(row['id'])]));
}

/** The messages as the JSON text the statements read. The payload is JSON already and goes in as it is. */
function rowsOf(messages: readonly NewMessage[]): string {
  const rows = messages.map((message) => {
    const row = JSON.stringify({
      id: message.id,
      type: message.type,
      key: message.key,
      idempotency_key: message.idempotencyKey,
      source: message.source,
      target: message.target,
      aggregate_type: message.aggregateType,
      aggregate_id: message.aggregateId,
      generation: message.generation,
      correlation_id: message.correlationId,
      causation_id: message.causationId,
      traceparent: message.traceparent,
      tracestate: message.tracestate,
      headers: message.headers,
      due_at: message.deliverAt?.toISOString(),
    });
    return `${row.slice(0, -1)},"payload":${message.payload}}`;
  });
  return `[${rows.join(',')}]`;
}
