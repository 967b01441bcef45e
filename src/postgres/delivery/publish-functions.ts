import { fanOut, linkMessages, MESSAGE_INPUT } from '../fan-out.ts';
import { wakeChannel, wakeStatement } from '../relay/wake-statement.ts';

/**
 * What is published, and how attempts ended, each in one call: the message, its line in the log and what it says about its queue or key
 * are one commit, in one round trip, whatever client or pool is in between.
 */
export function publishFunctions(schema: string): readonly string[] {
  return [notePlaces(schema), takeIn(schema), publish(schema), report(schema)];
}

/** No limit is given: those that were given before are meant. */
function saysNothing(row: string): string {
  return `coalesce(${row}.parallelism, ${row}.rate) is null`;
}

/**
 * Queues that are not there yet, and limits that are not what is there: `{ queues: [name], flows: [{ key, parallelism, rate, period_ms }] }`. What is there
 * as it is said is looked at and not locked: those who publish under one key do not wait for each other. That a key is used is written
 * once an hour, so that one that is not can be forgotten.
 */
function notePlaces(schema: string): string {
  const isSame = `f.is_parallelism_pinned or f.parallelism is not distinct from n.parallelism`;
  const isSameRate = `f.is_rate_pinned or f.rate is not distinct from n.rate and f.period_ms is not distinct from n.period_ms`;
  return `create function ${schema}.http_note(about text) returns void language plpgsql as $body$
    begin
      insert into ${schema}.http_queue (name) select q from json_array_elements_text(about::json -> 'queues') q
        where not exists (select from ${schema}.http_queue k where k.name = q) order by q on conflict do nothing;
      insert into ${schema}.http_flow as f (key, parallelism, rate, period_ms)
        select n.key, n.parallelism, n.rate, n.period_ms
        from json_to_recordset(about::json -> 'flows') as n (key text, parallelism int, rate int, period_ms bigint)
        where not exists (select from ${schema}.http_flow f where f.key = n.key and f.used_at > now() - interval '1 hour'
          and (${saysNothing('n')} or (${isSame}) and (${isSameRate})))
        order by n.key
        on conflict (key) do update set tx = pg_current_xact_id(), used_at = now(),
          parallelism = case when f.is_parallelism_pinned or ${saysNothing('excluded')} then f.parallelism else excluded.parallelism end,
          rate = case when f.is_rate_pinned or ${saysNothing('excluded')} then f.rate else excluded.rate end,
          period_ms = case when f.is_rate_pinned or ${saysNothing('excluded')} then f.period_ms else excluded.period_ms end;
    end $body$`;
}

/**
 * The payload of `m` with its body: one that several share comes once, in `p_bodies`. Put in as the rows are written, one after the
 * other, so that it is never there as often as there are messages.
 */
const WITH_BODY = `case when m.payload ? 'bodyAt' then (m.payload - 'bodyAt') || (p_bodies -> (m.payload ->> 'bodyAt')::int) else m.payload end`;

/**
 * Puts messages into their lines and into the log. Of those with an idempotency key only what the key has not been used for within its
 * time; answers, by id, whose id stands for the others. Keys go in sorted, so that two callers wait for each other and do not deadlock.
 */
function takeIn(schema: string): string {
  const wake = wakeStatement(schema, wakeChannel(schema.slice(1, -1))).replace(/^select/, 'perform');
  return `create function ${schema}.http_take_in(input text, has_keys boolean, dedup_ms float8, p_actor text, p_bodies jsonb default null) returns json language plpgsql as $body$
    declare
      unit_count int;
      fresh uuid[];
      known json := '{}';
    begin
      select units into unit_count from ${schema}.meta;
      if has_keys then
        with taken as (
          insert into ${schema}.dedup (key, id, expires_at)
          select m.idempotency_key, m.id, now() + dedup_ms * interval '1 millisecond'
          from json_to_recordset(input::json) as m (id uuid, idempotency_key text)
          where m.idempotency_key is not null order by m.idempotency_key
          on conflict (key) do update set id = excluded.id, expires_at = excluded.expires_at where dedup.expires_at <= now()
          returning id)
        select coalesce(array_agg(id), '{}') into fresh from taken;
        select coalesce(json_object_agg(m.id, d.id), '{}') into known
          from json_to_recordset(input::json) as m (id uuid, idempotency_key text) join ${schema}.dedup d on d.key = m.idempotency_key
          where m.id <> all (fresh);
        if known::text <> '{}' then
          select coalesce(json_agg(m), '[]')::text into input from json_array_elements(input::json) m
            where known -> (m ->> 'id') is null;
        end if;
      end if;
      with m as materialized (select * from ${MESSAGE_INPUT}),
        linked as (${linkMessages(schema, 'true', 'm')}),
        logged as (
          insert into ${schema}.http_event (message_id, cycle, attempt, state, next_at, request, actor)
          select m.id, 0, 0, 0, m.due_at, m.payload - 'body' - 'bodyBase64' - 'bodyAt', p_actor from m on conflict do nothing)
        ${fanOut(schema, 'unit_count', 'm', WITH_BODY)} order by m.place;
      ${wake};
      return known;
    end $body$`;
}

function publish(schema: string): string {
  return `create function ${schema}.http_publish(input text, about text, has_keys boolean, dedup_ms float8, p_actor text, p_bodies jsonb) returns text language plpgsql as $body$
    begin
      if (select is_full from ${schema}.meta) then return null; end if;
      if about is not null then perform ${schema}.http_note(about); end if;
      return ${schema}.http_take_in(input, has_keys, dedup_ms, p_actor, p_bodies)::text;
    end $body$`;
}

/** Where a destination was seen this lately with this status, nothing is written: one row would be everybody's. */
const SEEN_SECONDS = 5;

/**
 * Writes attempts that are not written yet, and takes in the callbacks of those. Also where the outbox is full: a callback comes
 * after something has left. `callbacks` are messages, each with the place of its attempt in `attempts`.
 */
function report(schema: string): string {
  return `create function ${schema}.http_report(attempts text, callbacks text, about text, dedup_ms float8) returns void language plpgsql as $body$
    declare
      fresh int[];
      input text;
    begin
      with a as materialized (
        select * from json_to_recordset(attempts::json) as a (place int, message_id uuid, cycle int, attempt int, state smallint,
          at timestamptz, started_at timestamptz, next_at timestamptz, error text, status smallint, headers jsonb, body text)),
      written as (
        insert into ${schema}.http_event (message_id, cycle, attempt, state, at, started_at, next_at, error, status, headers, body)
        select a.message_id, a.cycle, a.attempt, a.state, a.at, a.started_at, a.next_at, a.error, a.status, a.headers,
          decode(a.body, 'base64') from a order by a.message_id, a.cycle, a.attempt
        on conflict do nothing returning message_id, cycle, attempt)
      select array_agg(a.place) into fresh from a join written w using (message_id, cycle, attempt);
      insert into ${schema}.http_destination as d (destination, last_attempt_at, last_status)
        select distinct on (s.destination) s.destination, s.at, s.status
        from json_to_recordset(attempts::json) as s (destination text, at timestamptz, status smallint)
        where not exists (select from ${schema}.http_destination k where k.destination = s.destination
          and k.last_status is not distinct from s.status and k.last_attempt_at > s.at - interval '${SEEN_SECONDS} seconds')
        order by s.destination, s.at desc
        on conflict (destination) do update set last_attempt_at = excluded.last_attempt_at, last_status = excluded.last_status;
      if callbacks is not null then
        select json_agg(c -> 'message' order by (c ->> 'place')::int)::text into input from json_array_elements(callbacks::json) c
          where (c ->> 'place')::int = any (fresh);
        if input is not null then
          if about is not null then perform ${schema}.http_note(about); end if;
          perform ${schema}.http_take_in(input, true, dedup_ms, null);
        end if;
      end if;
    end $body$`;
}
