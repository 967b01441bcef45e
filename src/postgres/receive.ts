import type { ForeignMessage, SendResult } from '../outbox/outbox-store.ts';
import type { Link } from './driver/driver.ts';
import { fanOutWhere, FULL, hasLinks, isFull, linkMessages, MESSAGE_INPUT, messageInput } from './fan-out.ts';
import { wakeStatement } from './relay/wake-statement.ts';
import { HoldfastError } from '../kernel/error.ts';

/** The statement of receiving, for a quoted schema. $2 is how long an arrival is remembered, in milliseconds. */
function receiveStatement(schema: string, channel: string, isLinked: boolean): string {
  // Sorted, so that two consumers of the same messages wait for each other and do not deadlock. That wait is what keeps the order
  // when a message is received by two at once: whoever comes second stores what follows only after the first has committed.
  // The messages are taken out of their text once, for both inserts: a second time was a seventh of what it cost the server.
  const isNew = 'exists (select from seen where seen.id = m.id and seen.times = 1)';
  return `with m as materialized (select * from ${MESSAGE_INPUT}),
    seen as (
      insert into ${schema}.inbox (taken_as, id, source_id, expires_at)
      select coalesce(m.taken_as, m.type), m.id, m.source_id, now() + $2::text::float8 * interval '1 millisecond' from m
      where not (select is_full from ${schema}.meta) order by m.id
      on conflict (id, taken_as) do update set last_at = clock_timestamp(), times = inbox.times + 1
      returning id, taken_as, times),
    sent as (${fanOutWhere(schema, isNew, 'm')}),
    ${isLinked ? `linked as (${linkMessages(schema, isNew, 'm')}),` : ''}
    woken as materialized (${wakeStatement(schema, channel)})
    select id::text, times from seen
    union all select id, 0 from (${isFull(schema)}) f union all select null, 0 from woken`;
}

/** Receiving, for one schema, over a connection of its own: one statement, one commit. */
export function receiveAct(
  link: Link,
  schema: string,
  channel: string,
): (messages: readonly ForeignMessage[], rememberMs: number) => Promise<readonly SendResult[]> {
  const [plain, linked] = [receiveStatement(schema, channel, false), receiveStatement(schema, channel, true)];
  return async (messages, rememberMs) => {
    const firstOf = new Map<string, ForeignMessage>();
    for (const message of messages) if (!firstOf.has(message.id)) firstOf.set(message.id, message);
    const statement = hasLinks(messages) ? linked : plain;
    const rows = await link.query(statement, [messageInput([...firstOf.values()]), rememberMs]);
    if (rows.some(([id]) => id === FULL)) throw new HoldfastError('OUTBOX_FULL', {});
    const fresh = new Set(rows.flatMap(([id, times]) => (Number(times) === 1 ? [id] : [])));
    return messages.map((message) => {
      const isStored = fresh.has(message.id) && firstOf.get(message.id) === message;
      return { kind: isStored ? 'stored' : 'duplicate', id: message.id };
    });
  };
}

/** Asking which names are taken, for one schema. $1 is the names as JSON. */
export function takenAct(link: Link, schema: string): (names: readonly string[]) => Promise<readonly string[]> {
  // All that a handler takes is written anew whenever it registers, in one transaction: what its last one has left out is older. So a
  // type that was given up is not kept for a handler that lives on.
  const statement = `select distinct s.type from ${schema}.subscription s
    where s.type in (select json_array_elements_text($1::text::json))
      and age(s.xmin) <= (select min(age(o.xmin)) from ${schema}.subscription o where o.handler = s.handler)
      and exists (select from ${schema}.lane l join ${schema}.worker w on l.id = any (w.lanes)
        where l.handler = s.handler and w.expires_at > clock_timestamp())`;
  return async (names) => (await link.query(statement, [JSON.stringify(names)])).map(([name]) => name as string);
}
