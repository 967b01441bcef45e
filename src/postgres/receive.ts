import type { NewMessage, SendResult } from '../outbox/outbox-store.ts';
import { fanOutWhere, isFull, MESSAGE_INPUT, messageInput, refuseIfFull } from './fan-out.ts';
import { wakeStatement } from './relay/wake-statement.ts';
import type { SqlRunner } from './sql-runner.ts';

/** A message that came from elsewhere. */
export interface ForeignMessage extends NewMessage {
  /** Where it came from, the same at each arrival: `kafka:topic@partition@offset`, `amqp:exchange@routingKey@id`. */
  readonly sourceId: string;
}

/** The statement of receiving, for a quoted schema. $2 is how long an arrival is remembered, in milliseconds. */
export function receiveStatement(schema: string, channel: string): string {
  // Sorted, so that two consumers of the same messages wait for each other and do not deadlock.
  return `with seen as (
      insert into ${schema}.inbox (source_id, id, expires_at)
      select m.source_id, m.id, now() + $2::text::float8 * interval '1 millisecond' from ${MESSAGE_INPUT}
      where not (select is_full from ${schema}.meta) order by m.source_id
      on conflict (source_id) do update set last_at = clock_timestamp(), times = inbox.times + 1
      returning source_id, id, times),
    sent as (${fanOutWhere(schema, 'm.id in (select id from seen where times = 1)')}),
    woken as materialized (${wakeStatement(schema, channel)})
    select id::text as id, source_id as source, times from seen
    union all select id, null, 0 from (${isFull(schema)}) f union all select null, null, 0 from woken`;
}

/**
 * Stores messages that came from elsewhere through the caller's transaction, each once however often it arrives. The answers
 * are in their order; a `duplicate` names the message that was stored first. Throws `OUTBOX_FULL`.
 */
export async function receive(
  sql: SqlRunner,
  statement: string,
  messages: readonly ForeignMessage[],
  rememberMs: number,
): Promise<readonly SendResult[]> {
  const firstOf = new Map<string, ForeignMessage>();
  for (const message of messages) if (!firstOf.has(message.sourceId)) firstOf.set(message.sourceId, message);
  const rows = await sql.query(statement, [messageInput([...firstOf.values()]), rememberMs]);
  refuseIfFull(rows);
  const stored = new Map(rows.map((row) => [row['source'], row]));
  return messages.map((message) => {
    const id = String(stored.get(message.sourceId)?.['id']);
    return { kind: id === message.id ? 'stored' : 'duplicate', id };
  });
}
