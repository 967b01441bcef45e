import type { NewMessage, SendResult } from '../outbox/outbox-store.ts';
import { fanOutWhere, hasLinks, isFull, linkMessages, MESSAGE_INPUT, messageInput, refuseIfFull } from './fan-out.ts';
import { WAKE_OFF, wakeStatement } from './relay/wake-statement.ts';
import type { SqlRunner } from './sql-runner.ts';

/** The statements of sending, for one schema. */
export interface AppendStatements {
  readonly deliveryInsert: string;
  readonly deliveryInsertLinked: string;
  readonly deliveryInsertOnce: string;
  readonly deliveryInsertOnceLinked: string;
  readonly dedupFind: string;
  readonly keyLock: string;
}

/** Writes the statements for a quoted schema. `dedupMs` is how long an explicit idempotency key is remembered. */
export function appendStatements(schema: string, channel: string, dedupMs: number): AppendStatements {
  const wake = wakeStatement(schema, channel);
  const isNew = 'm.idempotency_key is null or m.id in (select id from fresh)';
  // Keys go in sorted, so that two senders with the same keys in another order wait for each other and do not deadlock.
  const insertOnce = (links: string): string => `with fresh as (
        insert into ${schema}.dedup (key, id, expires_at)
        select m.idempotency_key, m.id, now() + interval '${dedupMs} milliseconds' from ${MESSAGE_INPUT}
        where m.idempotency_key is not null and not (select is_full from ${schema}.meta) order by m.idempotency_key
        on conflict (key) do update set id = excluded.id, expires_at = excluded.expires_at
        where dedup.expires_at <= now()
        returning id),
      sent as (${fanOutWhere(schema, isNew)}),${links}
      woken as materialized (${wake})
      select id::text as id from fresh union all ${isFull(schema)} union all select null from woken`;
  return {
    deliveryInsert: `select ${schema}.delivery_append($1::text) as id`,
    deliveryInsertLinked: `select ${schema}.delivery_append_linked($1::text) as id`,
    deliveryInsertOnce: insertOnce(''),
    deliveryInsertOnceLinked: insertOnce(`
      linked as (${linkMessages(schema, isNew, MESSAGE_INPUT)}),`),
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
  if (messages.some(({ wake }) => wake === false)) await sql.query(WAKE_OFF);
  const strictKeys = messages.flatMap(({ strict, key }) => (strict && key !== undefined ? [key] : []));
  if (strictKeys.length > 0) {
    const sorted = [...new Set(strictKeys)].sort();
    await sql.query(statements.keyLock, [JSON.stringify(sorted)]);
  }
  const firstOf = firstOfEachKey(messages);
  const input = messageInput(messages.filter((message) => firstIdOf(message, firstOf) === message.id));
  const isLinked = hasLinks(messages);
  if (firstOf.size === 0) {
    refuseIfFull(await sql.query(isLinked ? statements.deliveryInsertLinked : statements.deliveryInsert, [input]));
    return messages.map(({ id }) => ({ kind: 'stored', id }));
  }
  const rows = await sql.query(isLinked ? statements.deliveryInsertOnceLinked : statements.deliveryInsertOnce, [input]);
  refuseIfFull(rows);
  const fresh = new Set(rows.map((row) => row['id']));
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
