import { ENVELOPE_COLUMNS } from '../schema/messages.ts';
import { isoText } from './functions.ts';

/**
 * The verbs on one message or handler that need more than failed deliveries. Those on a message lock its id first: two
 * operators at once are one after the other, also where no row is left to lock.
 */
export function messageFunctions(schema: string): readonly string[] {
  return [
    giveFunction(schema),
    replayMessageFunction(schema),
    editFunction(schema),
    cancelFunction(schema),
    retireFunction(schema),
  ];
}

function lockMessage(schema: string): string {
  return `perform pg_advisory_xact_lock(hashtextextended('${schema} operator ' || p_id, 0));
    perform from ${schema}.delivery d where d.id = p_id order by d.handler for update;`;
}

/** The full names of handlers, as JSON. */
function namesOf(schema: string, handlers: string): string {
  return `(select coalesce(jsonb_agg(h.service || '/' || h.name order by h.id), '[]') from ${schema}.handler h where h.id = any (${handlers}))`;
}

/**
 * Those of the handlers that have no row of the message, and may have had one: it was sent at a time whose history is no longer kept.
 * Whoever took them for handlers that never had it would run them a second time. One that waits for any handler was handled by none.
 */
function forgottenOf(schema: string, handlers: string): string {
  const sent = ['delivery', 'delivered'].map((table) => `select created_at from ${schema}.${table} where id = p_id`);
  return `array(select h.id from ${schema}.handler h where h.id = any (${handlers})
      and not exists (select from ${schema}.delivery d where d.id = p_id and d.handler in (h.id, 0))
      and not exists (select from ${schema}.delivered d where d.id = p_id and d.handler = h.id)
      and (select min(s.created_at) from (${sent.join(' union all ')}) s) < (select m.forgotten_until from ${schema}.meta m))`;
}

/** Puts the message into the line of each handler; none of them has an open delivery of it. Answers how many. */
function giveFunction(schema: string): string {
  const parts = (table: string, outcome: string): string =>
    `select handler, version, cycle, rerun, failure_history, ${outcome} as outcome, ${ENVELOPE_COLUMNS}
      from ${schema}.${table} where id = p_id`;
  const envelope = ENVELOPE_COLUMNS.replaceAll(/\w+/g, 'm.$&').replace(
    'm.generation',
    'coalesce(p_generation, m.generation)',
  );
  return `create function ${schema}.operator_give(
    p_id uuid, p_handlers smallint[], p_generation bigint, p_actor text, p_reason text) returns int language plpgsql as $$
  declare
    v_handler smallint;
    v_units int[] := '{}';
    v_unit int;
  begin
    foreach v_handler in array p_handlers loop
      with parts as (${parts('delivered', 'outcome')} union all ${parts('delivery', 'null::smallint')}),
      newest as (select * from parts order by version desc limit 1),
      own as (select outcome, cycle, rerun, failure_history from parts where handler = v_handler order by rerun desc limit 1),
      given as (
        insert into ${schema}.delivery (id, handler, unit, version, cycle, rerun, failure_history, ${ENVELOPE_COLUMNS})
        select p_id, v_handler,
          ${schema}.operator_unit(v_handler, coalesce(p_generation, m.generation), coalesce(m.key, p_id::text)), m.version,
          coalesce(o.cycle, 0) + case o.outcome when 1 then 1 else 0 end,
          coalesce(o.rerun, 0) + case o.outcome when 0 then 1 else 0 end,
          case when o.outcome = 1 and o.failure_history <> '[]' then
            jsonb_set(o.failure_history, '{-1}', o.failure_history -> -1 || jsonb_build_object('replayedBy', p_actor,
              'replayedAt', ${isoText('now()')}))
            else '[]' end, ${envelope}
        from newest m left join own o on true
        returning unit, cycle, rerun),
      audited as (
        insert into ${schema}.audit (actor, verb, reason, message_id, handler, details)
        select p_actor, case when o.outcome is null then 'deliver' when o.outcome = 0 then 'rerun' else 'replay' end, p_reason,
          p_id, v_handler, jsonb_build_object('cycle', g.cycle, 'rerun', g.rerun)
        from given g left join own o on true)
      select unit into v_unit from given;
      v_units := v_units || v_unit;
      -- What was given up is open again; what succeeded stays in the history, the rerun is a run of its own.
      delete from ${schema}.delivered where id = p_id and handler = v_handler and outcome <> 0;
    end loop;
    -- It stood for "no handler", and now it has one.
    if cardinality(v_units) > 0 then
      delete from ${schema}.delivery where id = p_id and handler = 0;
      perform ${schema}.operator_poke(v_units);
    end if;
    return cardinality(v_units);
  end $$`;
}

function replayMessageFunction(schema: string): string {
  return `create function ${schema}.operator_replay_message(
    p_id uuid, p_handlers smallint[], p_rerun boolean, p_skip boolean, p_generation bigint, p_actor text, p_reason text)
  returns jsonb language plpgsql as $$
  declare
    v_failed smallint[];
    v_closed smallint[];
    v_pending smallint[] := '{}';
    v_done smallint[] := '{}';
    v_count int := 0;
  begin
    ${lockMessage(schema)}
    if ${schema}.operator_status(p_id, null) is null then return jsonb_build_object('kind', 'not-found'); end if;
    v_failed := array(select d.handler from ${schema}.delivery d
      where d.id = p_id and d.state = 2 and (p_handlers is null or d.handler = any (p_handlers)));
    if p_handlers is not null then
      v_closed := array(select distinct n.handler from unnest(p_handlers) as n (handler)
        where not exists (select from ${schema}.delivery d where d.id = p_id and d.handler = n.handler));
      v_done := array(select distinct d.handler from ${schema}.delivered d
        where d.id = p_id and d.outcome = 0 and d.handler = any (v_closed)) || ${forgottenOf(schema, 'v_closed')};
      if cardinality(v_done) > 0 and not p_rerun then
        return jsonb_build_object('kind', 'already-delivered', 'handlers', ${namesOf(schema, 'v_done')});
      end if;
      v_done := array(select h.id from ${schema}.handler h where h.id = any (v_done) and not h.is_repeatable);
      if cardinality(v_done) > 0 and not p_skip then
        return jsonb_build_object('kind', 'not-repeatable', 'handlers', ${namesOf(schema, 'v_done')});
      end if;
      v_closed := array(select c.handler from unnest(v_closed) as c (handler) where c.handler <> all (v_done));
      v_pending := array(select distinct d.handler from ${schema}.delivery d
        where d.id = p_id and d.state <> 2 and d.handler = any (p_handlers));
      v_count := ${schema}.operator_give(p_id, v_closed, p_generation, p_actor, p_reason);
    end if;
    v_count := v_count + ${schema}.operator_replay(
      array_fill(p_id, array[cardinality(v_failed)]), v_failed, p_generation, p_actor, p_reason);
    if v_count = 0 and cardinality(v_done) > 0 then
      return jsonb_build_object('kind', 'not-repeatable', 'handlers', ${namesOf(schema, 'v_done')});
    elsif v_count = 0 then
      return jsonb_build_object('kind', 'not-failed', 'status', ${schema}.operator_status(p_id, p_handlers));
    end if;
    return jsonb_build_object('kind', 'replayed', 'count', v_count) || case when cardinality(v_done || v_pending) = 0 then '{}' else
      jsonb_build_object('skipped', jsonb_build_object('notRepeatable', ${namesOf(schema, 'v_done')}, 'pending', ${namesOf(schema, 'v_pending')})) end;
  end $$`;
}

function editFunction(schema: string): string {
  return `create function ${schema}.operator_edit(
    p_id uuid, p_payload jsonb, p_version int, p_generation bigint, p_actor text, p_reason text)
  returns jsonb language plpgsql as $$
  declare
    v_version int;
    v_done smallint[];
    v_failed smallint[];
    v_count int;
  begin
    -- Locked before the history is looked at: a handler that is about to succeed either has, or is refused by the version.
    ${lockMessage(schema)}
    if ${schema}.operator_status(p_id, null) is null then return jsonb_build_object('kind', 'not-found'); end if;
    v_done := array(select distinct d.handler from ${schema}.delivered d where d.id = p_id and d.outcome = 0) || ${forgottenOf(schema, `array(select s.handler from ${schema}.subscription s where s.type in (select coalesce(d.taken_as, d.type) from ${schema}.delivery d where d.id = p_id))`)};
    if cardinality(v_done) > 0 then
      return jsonb_build_object('kind', 'already-delivered', 'handlers', ${namesOf(schema, 'v_done')});
    end if;
    select max(d.version), array_agg(d.handler) filter (where d.state = 2) into v_version, v_failed
      from ${schema}.delivery d where d.id = p_id;
    if p_version is not null and v_version is distinct from p_version then
      return jsonb_build_object('kind', 'changed', 'version', coalesce(v_version, 0));
    end if;
    if v_failed is null then
      return jsonb_build_object('kind', 'not-failed', 'status', ${schema}.operator_status(p_id, null));
    end if;
    insert into ${schema}.edit (id, version, payload, actor, reason)
      select p_id, v_version, d.payload, p_actor, p_reason from ${schema}.delivery d
      where d.id = p_id and d.version = v_version limit 1;
    update ${schema}.delivery set payload = p_payload, version = v_version + 1 where id = p_id;
    insert into ${schema}.audit (actor, verb, reason, message_id, details)
      values (p_actor, 'edit', p_reason, p_id, jsonb_build_object('version', v_version + 1));
    v_count := ${schema}.operator_replay(
      array_fill(p_id, array[cardinality(v_failed)]), v_failed, p_generation, p_actor, p_reason);
    perform ${schema}.operator_poke(array(select d.unit from ${schema}.delivery d where d.id = p_id and d.state <> 2));
    return jsonb_build_object('kind', 'edited', 'version', v_version + 1, 'count', v_count);
  end $$`;
}

function cancelFunction(schema: string): string {
  return `create function ${schema}.operator_cancel(p_id uuid, p_actor text, p_reason text) returns jsonb language plpgsql as $$
  declare
    v_handlers smallint[];
  begin
    ${lockMessage(schema)}
    if ${schema}.operator_status(p_id, null) is null then return jsonb_build_object('kind', 'not-found'); end if;
    -- Once it is due a worker may have begun: nothing is written when a run starts.
    select array_agg(d.handler) into v_handlers from ${schema}.delivery d where d.id = p_id
      having bool_and(d.state = 1 and d.attempts = 0 and d.cycle = 0 and d.error is null and d.due_at > clock_timestamp());
    if v_handlers is null or exists (select from ${schema}.delivered d where d.id = p_id) then
      return jsonb_build_object('kind', 'not-scheduled', 'status', ${schema}.operator_status(p_id, null));
    end if;
    perform ${schema}.operator_discard(
      array_fill(p_id, array[cardinality(v_handlers)]), v_handlers, true, 2::smallint, p_actor, p_reason);
    return jsonb_build_object('kind', 'cancelled');
  end $$`;
}

function retireFunction(schema: string): string {
  return `create function ${schema}.operator_retire(p_handler smallint, p_discard_open boolean, p_actor text, p_reason text)
  returns jsonb language plpgsql as $$
  declare
    v_workers jsonb;
    v_ids uuid[];
    v_failed bigint;
  begin
    perform from ${schema}.handler h where h.id = p_handler for update;
    select jsonb_agg(w.name order by w.name) into v_workers from ${schema}.worker w where w.expires_at > clock_timestamp()
      and w.lanes && array(select l.id from ${schema}.lane l where l.handler = p_handler);
    if v_workers is not null then return jsonb_build_object('kind', 'has-workers', 'workers', v_workers); end if;
    select array_agg(d.id), count(*) filter (where d.state = 2) into v_ids, v_failed
      from ${schema}.delivery d where d.handler = p_handler;
    if v_ids is not null and not p_discard_open then
      return jsonb_build_object('kind', 'has-open', 'open', cardinality(v_ids) - v_failed, 'failed', v_failed);
    end if;
    delete from ${schema}.subscription s where s.handler = p_handler;
    insert into ${schema}.audit (actor, verb, reason, handler, details)
      values (p_actor, 'retire', p_reason, p_handler, jsonb_build_object('discarded', coalesce(cardinality(v_ids), 0)));
    return jsonb_build_object('kind', 'retired', 'discarded', case when v_ids is null then 0 else ${schema}.operator_discard(
      v_ids, array_fill(p_handler, array[cardinality(v_ids)]), true, 1::smallint, p_actor, coalesce(p_reason, 'handler retired')) end);
  end $$`;
}
