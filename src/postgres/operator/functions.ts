import { wakeChannel } from '../relay/wake-statement.ts';
import { ENVELOPE_COLUMNS } from '../schema/messages.ts';

const ENVELOPE_OF_D = ENVELOPE_COLUMNS.replaceAll(/\w+/g, 'd.$&');

/**
 * What operators call, and what the verbs of `Operator` stand on. In the database, because a change must lock first and look
 * afterwards, in one transaction, whatever client or pool asks; and so that psql can do what the command line does.
 * `outbox_replay` is a promise; the `operator_` functions are ours to change.
 */
export function operatorFunctions(schema: string): readonly string[] {
  return [
    pokeFunction(schema),
    unitFunction(schema),
    cycleFunction(schema),
    statusFunction(schema),
    replayFunction(schema),
    discardFunction(schema),
    outboxReplayFunction(schema),
  ];
}

/** Tells the owners of units to look again. Units in order, so that two callers do not deadlock. */
function pokeFunction(schema: string): string {
  const channel = wakeChannel(schema.slice(1, -1));
  return `create function ${schema}.operator_poke(p_units int[]) returns void language plpgsql as $$
  begin
    insert into ${schema}.poke as p (unit, n) select distinct u, 1 from unnest(p_units) u order by u
      on conflict (unit) do update set n = p.n + 1;
    -- As in sending: only if somebody sleeps, and never into a queue that is half full.
    perform pg_notify('${channel}', '') from ${schema}.waiter where pg_notification_queue_usage() < 0.5 limit 1;
  end $$`;
}

/** Where a message of a handler stands: its lane (of the generation, for a pinned handler; 0 without one) and its bucket. */
function unitFunction(schema: string): string {
  return `create function ${schema}.operator_unit(p_handler smallint, p_generation bigint, p_line text) returns int
  language sql stable as $$
    select coalesce((select l.id from ${schema}.lane l join ${schema}.handler h on h.id = l.handler
        where h.id = p_handler and l.generation is not distinct from case when h.is_pinned then p_generation end), 0) * m.units
      + (get_byte(b.hash, 0) * 256 + get_byte(b.hash, 1)) % m.units
    from ${schema}.meta m, (select sha256(convert_to(p_line, 'UTF8')) as hash) b
  $$`;
}

/** A time as ISO 8601 in UTC, whatever the session's time zone. */
export function isoText(time: string): string {
  return `to_char(${time} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}

/** A failed cycle as it is kept in failure_history. The stack is left out: it is most of the bytes. */
function cycleFunction(schema: string): string {
  return `create function ${schema}.operator_cycle(d ${schema}.delivery, p_replayed_at timestamptz, p_replayed_by text)
  returns jsonb language sql stable as $$
    select jsonb_build_object('cycle', d.cycle, 'service', h.service, 'handler', h.name, 'attempts', d.attempts,
      'firstFailedAt', ${isoText('d.first_failed_at')}, 'failedAt', ${isoText('d.failed_at')}, 'error', d.error - 'stack',
      'generation', d.generation, 'replayedAt', ${isoText('p_replayed_at')}, 'replayedBy', p_replayed_by)
    from (select d.handler) k left join ${schema}.handler h on h.id = k.handler
  $$`;
}

/** Where the deliveries of a message stand, the furthest from done first; null when there is no such message. */
function statusFunction(schema: string): string {
  return `create function ${schema}.operator_status(p_id uuid, p_handlers smallint[]) returns text language sql stable as $$
    select word from (
      select (array['ready', 'waiting', 'failed'])[d.state + 1] as word, d.state as place from ${schema}.delivery d
        where d.id = p_id and (p_handlers is null or d.handler = any (p_handlers))
      union all
      select (array['delivered', 'discarded', 'cancelled'])[d.outcome + 1], 3 + d.outcome from ${schema}.delivered d
        where d.id = p_id and (p_handlers is null or d.handler = any (p_handlers))
    ) s order by place limit 1
  $$`;
}

/** Replays the named deliveries that have failed, in place; the others are left alone. Answers how many. */
function replayFunction(schema: string): string {
  return `create function ${schema}.operator_replay(
    p_ids uuid[], p_handlers smallint[], p_generation bigint, p_actor text, p_reason text, p_details jsonb default '{}')
  returns int language plpgsql as $$
  declare
    v_units int[];
    v_count int;
  begin
    -- In one order, so that two operators wait for each other and do not deadlock. What is read after it is the truth.
    perform from ${schema}.delivery d join unnest(p_ids, p_handlers) as p (id, handler) on d.id = p.id and d.handler = p.handler
      order by d.id, d.handler for update of d;
    with picked as (
      select d.id, d.handler, d.unit as old_unit, d.generation as old_generation, ${schema}.operator_cycle(d, now(), p_actor) as entry,
        -- Those of one key are due in their order.
        now() + row_number() over (order by d.seq) * interval '1 microsecond' as due_at,
        case when h.is_pinned and p_generation is not null
          then ${schema}.operator_unit(d.handler, p_generation, coalesce(d.key, d.id::text)) else d.unit end as unit
      from ${schema}.delivery d join unnest(p_ids, p_handlers) as p (id, handler) on d.id = p.id and d.handler = p.handler
        join ${schema}.handler h on h.id = d.handler
      where d.state = 2),
    replayed as (
      update ${schema}.delivery d set state = 1, due_at = p.due_at, attempts = 0, starts = 0, faults = null, retry = null, error = null,
        first_failed_at = null, failed_at = null, ran_at = null, cycle = d.cycle + 1, failure_history = d.failure_history || p.entry,
        holds = d.holds or d.key is not null, unit = p.unit, generation = coalesce(p_generation, d.generation)
      from picked p where d.id = p.id and d.handler = p.handler
      returning d.id, d.handler, d.cycle, d.generation, d.unit, p.old_unit, p.old_generation),
    audited as (
      insert into ${schema}.audit (actor, verb, reason, message_id, handler, details)
      select p_actor, 'replay', p_reason, r.id, r.handler, jsonb_build_object('cycle', r.cycle) || p_details
        || case when r.generation is distinct from r.old_generation
          then jsonb_build_object('generation', r.generation, 'generationBefore', r.old_generation) else '{}' end
      from replayed r)
    select count(*), array_agg(r.unit) || array_agg(r.old_unit) into v_count, v_units from replayed r;
    if v_count > 0 then perform ${schema}.operator_poke(v_units); end if;
    return v_count;
  end $$`;
}

/** Moves the named deliveries to the history: failed ones, or with p_open any. Answers how many. */
function discardFunction(schema: string): string {
  return `create function ${schema}.operator_discard(
    p_ids uuid[], p_handlers smallint[], p_open boolean, p_outcome smallint, p_actor text, p_reason text,
    p_details jsonb default '{}', p_verb text default 'discard')
  returns int language plpgsql as $$
  declare
    v_units int[];
    v_count int;
  begin
    perform from ${schema}.delivery d join unnest(p_ids, p_handlers) as p (id, handler) on d.id = p.id and d.handler = p.handler
      order by d.id, d.handler for update of d;
    with gone as (
      delete from ${schema}.delivery d using unnest(p_ids, p_handlers) as p (id, handler)
      where d.id = p.id and d.handler = p.handler and (d.state = 2 or p_open)
      returning d.*),
    kept as (
      insert into ${schema}.delivered (slot, id, handler, outcome, version, attempts, cycle, rerun, first_failed_at, error,
        failure_history, reason, actor, ${ENVELOPE_COLUMNS})
      select m.slot, d.id, d.handler, p_outcome, d.version, d.attempts, d.cycle, d.rerun, d.first_failed_at, d.error,
        case when d.state = 2 then d.failure_history || ${schema}.operator_cycle(d, null, null) else d.failure_history end,
        p_reason, p_actor, ${ENVELOPE_OF_D}
      from gone d, ${schema}.meta m),
    audited as (
      insert into ${schema}.audit (actor, verb, reason, message_id, handler, details)
      select p_actor, case p_outcome when 2 then 'cancel' else p_verb end, p_reason, d.id, nullif(d.handler, 0),
        jsonb_build_object('attempts', d.attempts, 'cycle', d.cycle) || p_details
      from gone d)
    select count(*), array_agg(d.unit) into v_count, v_units from gone d;
    if v_count > 0 then perform ${schema}.operator_poke(v_units); end if;
    return v_count;
  end $$`;
}

/** For people with psql: replays what has failed of one message. The answer is JSON, with the word under "answer". */
function outboxReplayFunction(schema: string): string {
  return `create function ${schema}.outbox_replay(event_id uuid, p_new_generation bigint, p_replayed_by text)
  returns jsonb language plpgsql as $$
  declare
    v_handlers smallint[];
    v_count int;
    v_status text;
  begin
    select array_agg(d.handler) into v_handlers from ${schema}.delivery d where d.id = event_id and d.state = 2;
    v_count := ${schema}.operator_replay(array_fill(event_id, array[coalesce(cardinality(v_handlers), 0)]), v_handlers,
      p_new_generation, coalesce(nullif(p_replayed_by, ''), session_user::text), null);
    if v_count > 0 then return jsonb_build_object('answer', 'replayed', 'count', v_count); end if;
    v_status := ${schema}.operator_status(event_id, null);
    if v_status is null then return jsonb_build_object('answer', 'not_found'); end if;
    return jsonb_build_object('answer', 'not_failed', 'status', v_status);
  end $$`;
}
