import { BULK_OUTCOMES, type BulkOutcome } from '../../operator/bulk.ts';
import { KEPT_PLAN } from '../schema/functions.ts';
import { ENVELOPE_COLUMNS } from '../schema/messages.ts';

/**
 * How many are started in one transaction: few enough that workers begin with the first while the rest is written. As many are in a
 * parcel, and have rows before they are begun with.
 */
export const START_AT_ONCE = 500;
/** How many that run are looked at in one step. */
const FOLLOW_AT_ONCE = 2_000;
/** How long until those that run are looked at again. */
const FOLLOW_MS = 400;
/** How long until an item is tried again whose row somebody else has locked. */
const LOCKED_MS = 100;
/** What the pace allowed and nobody started is lost after this time: there is no burst after a rest. */
export const PACE_WINDOW_MS = 250;

/** The number of an outcome, as it is stored. */
export function outcomeNumber(outcome: BulkOutcome): number {
  return BULK_OUTCOMES.indexOf(outcome);
}

const SELECTED = outcomeNumber('selected');
const STARTED = outcomeNumber('started');
const SUCCEEDED = outcomeNumber('succeeded');
const FAILED = outcomeNumber('failed');
const DISCARDED = outcomeNumber('discarded');
const SKIPPED = outcomeNumber('skipped');

/** How many have an outcome. */
const count = (outcome: BulkOutcome, counts = 'b.counts'): string => `${counts}[${outcomeNumber(outcome) + 1}]`;

// What is locked by others is passed over, but not further than one step.
const IS_IN_REACH = `i.place <= b.begun + ${START_AT_ONCE}`;

/**
 * How bulk operations are carried on. Each step is one transaction that locks the operation first, so any number of processes may step
 * at once, and one that dies in a step has done nothing.
 */
export function bulkFunctions(schema: string): readonly string[] {
  return [
    followFunction(schema),
    unpackFunction(schema),
    republishFunction(schema),
    beginFunction(schema),
    decideFunction(schema),
    stepFunction(schema),
    changeFunction(schema),
  ];
}

/** What became of started items. A failed cycle is in the row or in its history; what is in neither has succeeded. */
function followFunction(schema: string): string {
  const failure = `(select e from jsonb_array_elements(coalesce(d.failure_history, x.failure_history)) e
        where (e ->> 'cycle')::int = l.cycle limit 1)`;
  return `create function ${schema}.bulk_follow(b ${schema}.bulk) returns ${schema}.bulk language plpgsql ${KEPT_PLAN} as $$
  declare
    v_seen int;
    v_last int;
    v_ended int[];
  begin
    with looked as materialized (
      select i.place, i.id, i.handler, i.cycle, i.rerun from ${schema}.bulk_item i
      where i.bulk = b.id and i.outcome = ${STARTED} and i.place > b.followed and ${IS_IN_REACH} order by i.place limit ${FOLLOW_AT_ONCE}),
    ends as (
      select l.place, e.* from looked l
      left join ${schema}.delivery d on d.id = l.id and d.handler = l.handler
      left join lateral (
        select x.outcome, x.failure_history, x.done_at from ${schema}.delivered x
        where d.id is null and x.id = l.id and x.handler = l.handler and x.rerun = l.rerun limit 1) x on true
      left join lateral (select ${failure} as entry) h on true
      cross join lateral (
        -- It is run again on purpose: only what has succeeded is.
        select ${SUCCEEDED} as outcome, clock_timestamp() as at, null::jsonb as error where d.rerun > l.rerun
        union all
        select ${FAILED}, d.failed_at, d.error where d.rerun = l.rerun and d.cycle = l.cycle and d.state = 2
        union all
        -- It failed, and somebody has dealt with that since.
        select ${FAILED}, (h.entry ->> 'failedAt')::timestamptz, h.entry -> 'error'
          where h.entry is not null and (d.id is null or d.rerun = l.rerun)
        union all
        select ${DISCARDED}, clock_timestamp(), null where d.rerun = l.rerun and d.cycle > l.cycle and h.entry is null
        union all
        -- Of what the history has forgotten is known that it did not fail: failed ones are kept.
        select case when coalesce(x.outcome, 0) = 0 then ${SUCCEEDED} else ${DISCARDED} end, coalesce(x.done_at, clock_timestamp()), null
          where d.id is null and h.entry is null) e),
    ended as (
      update ${schema}.bulk_item i set outcome = e.outcome, ended_at = e.at, error = e.error - 'stack'
      from ends e where i.bulk = b.id and i.place = e.place returning i.outcome)
    select (select count(*) from looked), (select max(place) from looked),
      array(select (select count(*) from ended where outcome = n)::int from generate_series(0, ${BULK_OUTCOMES.length - 1}) n order by n)
      into v_seen, v_last, v_ended;
    for n in 1 .. ${BULK_OUTCOMES.length} loop
      b.counts[n] := b.counts[n] + v_ended[n];
      ${count('started')} := ${count('started')} - v_ended[n];
    end loop;
    select coalesce(min(i.place) - 1, b.begun) into b.ended_to from ${schema}.bulk_item i
      where i.bulk = b.id and i.outcome = ${STARTED} and i.place > b.ended_to and ${IS_IN_REACH};
    b.followed := case when v_seen < ${FOLLOW_AT_ONCE} then b.ended_to else v_last end;
    return b;
  end $$`;
}

/** Gives rows to the items that are next, out of their parcels. Afterwards as many as one step looks at have some. */
function unpackFunction(schema: string): string {
  return `create function ${schema}.bulk_unpack(b ${schema}.bulk) returns ${schema}.bulk language plpgsql as $$
  begin
    while b.unpacked < least(b.total, b.begun + ${START_AT_ONCE}) loop
      with parcel as (delete from ${schema}.bulk_parcel where bulk = b.id and first = b.unpacked + 1 returning *)
      insert into ${schema}.bulk_item (bulk, place, id, handler, cycle, rerun)
        select p.bulk, p.first + u.n - 1, u.id, u.handler, u.cycle, u.rerun
        from parcel p, unnest(p.ids, p.handlers, p.cycles, p.reruns) with ordinality u(id, handler, cycle, rerun, n);
      if not found then raise exception 'holdfast: the parcel at % of % is missing', b.unpacked + 1, b.id; end if;
      b.unpacked := least(b.total, b.unpacked + ${START_AT_ONCE});
    end loop;
    return b;
  end $$`;
}

/** Whether what an item was selected for still stands in the history, and nobody has opened it again. */
function isPublished(schema: string): string {
  return `(exists (select from ${schema}.delivered x where x.id = i.id and x.handler = i.handler and x.rerun = i.rerun and x.outcome = 0)
      and not exists (select from ${schema}.delivered x where x.id = i.id and x.handler = i.handler and x.rerun > i.rerun)
      and not exists (select from ${schema}.delivery d where d.id = i.id and d.handler = i.handler))`;
}

/**
 * Puts published messages into line once more, in the order in which they are named: a new run of each, which a broker that leaves out
 * what it has had can tell from the one before. The message, its id and its idempotency key stay as they are.
 */
function republishFunction(schema: string): string {
  const envelope = ENVELOPE_COLUMNS.replaceAll(/\w+/g, 'm.$&').replace(
    'm.generation',
    'coalesce(p_generation, m.generation)',
  );
  return `create function ${schema}.bulk_republish(
    p_ids uuid[], p_handlers smallint[], p_generation bigint, p_actor text, p_reason text, p_details jsonb) returns int language plpgsql as $$
  declare
    v_units int[];
    v_count int;
  begin
    with given as (
      insert into ${schema}.delivery (id, handler, unit, version, cycle, rerun, ${ENVELOPE_COLUMNS})
      select m.id, m.handler,
        ${schema}.operator_unit(m.handler, coalesce(p_generation, m.generation), coalesce(m.key, m.id::text)), m.version,
        m.cycle, m.rerun + 1, ${envelope}
      from unnest(p_ids, p_handlers) with ordinality p (id, handler, place)
      cross join lateral (select * from ${schema}.delivered d where d.id = p.id and d.handler = p.handler and d.outcome = 0
        order by d.rerun desc limit 1) m
      order by p.place
      returning id, handler, unit, cycle, rerun),
    audited as (
      insert into ${schema}.audit (actor, verb, reason, message_id, handler, details)
      select p_actor, 'rerun', p_reason, g.id, g.handler, jsonb_build_object('cycle', g.cycle, 'rerun', g.rerun) || p_details from given g)
    select count(*), array_agg(g.unit) into v_count, v_units from given g;
    if v_count > 0 then perform ${schema}.operator_poke(v_units); end if;
    return v_count;
  end $$`;
}

/** Of the items at `v_all`: skips those that somebody else has dealt with, and picks the others that can be begun now. */
function pickNext(schema: string): string {
  const is = `d.id = i.id and d.handler = i.handler and d.state = 2 and d.cycle = i.cycle and d.rerun = i.rerun`;
  return `if b.verb = 'republish' then
      -- As the verbs on one message do, so that an operator who runs it again meanwhile comes before or after.
      perform pg_advisory_xact_lock(hashtextextended('${schema} operator ' || s.id, 0)) from (
        select i.id from ${schema}.bulk_item i where i.bulk = b.id and i.place = any (v_all) order by i.id) s;
    end if;
    update ${schema}.bulk_item i set outcome = ${SKIPPED}, ended_at = v_now where i.bulk = b.id and i.place = any (v_all)
      and not case b.verb when 'republish' then ${isPublished(schema)}
        else exists (select from ${schema}.delivery d where ${is}) end;
    get diagnostics v_count = row_count;
    ${count('skipped')} := ${count('skipped')} + v_count;
    ${count('selected')} := ${count('selected')} - v_count;
    -- A row that is locked is somebody else's at this moment: its turn comes again.
    if b.verb = 'republish' then
      select array_agg(i.place order by i.place), array_agg(i.id order by i.place), array_agg(i.handler order by i.place)
        into v_places, v_ids, v_handlers from ${schema}.bulk_item i
        where i.bulk = b.id and i.place = any (v_all) and i.outcome = ${SELECTED};
    else select array_agg(s.place), array_agg(s.id), array_agg(s.handler) into v_places, v_ids, v_handlers from (
      select i.place, d.id, d.handler from ${schema}.bulk_item i join ${schema}.delivery d on ${is}
      where i.bulk = b.id and i.place = any (v_all) and i.outcome = ${SELECTED}
      order by d.id, d.handler for update of d skip locked) s;
    end if;`;
}

/** Begins with the next items: as many as the pace allows, and canaries alone while these are waited for. */
function beginFunction(schema: string): string {
  return `create function ${schema}.bulk_begin(b ${schema}.bulk) returns ${schema}.bulk language plpgsql ${KEPT_PLAN} as $$
  declare
    v_now timestamptz := clock_timestamp();
    v_room int := ${START_AT_ONCE};
    v_all int[];
    v_places int[];
    v_ids uuid[];
    v_handlers smallint[];
    v_count int;
    v_details jsonb := jsonb_build_object('bulk', b.id);
  begin
    if b.per_second is not null then
      b.next_at := greatest(b.next_at, v_now - interval '${PACE_WINDOW_MS} milliseconds');
      v_room := least(v_room, case when b.next_at > v_now then 0
        else floor(extract(epoch from v_now - b.next_at) * b.per_second) + 1 end);
    end if;
    v_all := array(select i.place from ${schema}.bulk_item i where i.bulk = b.id and i.outcome = ${SELECTED} and i.place > b.begun
      and ${IS_IN_REACH} and (b.state <> 'canary' or i.place <= b.canary_to) order by i.place limit v_room);
    ${pickNext(schema)}
    v_count := 0;
    if v_ids is null then
      null;
    elsif b.verb = 'replay' then
      v_count := ${schema}.operator_replay(v_ids, v_handlers, b.generation, b.actor, b.reason, v_details);
    elsif b.verb = 'republish' then
      v_count := ${schema}.bulk_republish(v_ids, v_handlers, b.generation, b.actor, b.reason, v_details);
    else
      v_count := ${schema}.operator_discard(v_ids, v_handlers, false, 1::smallint, b.actor, b.reason, v_details);
    end if;
    if v_count <> coalesce(cardinality(v_ids), 0) then
      raise exception 'holdfast: % of % locked items were written', v_count, cardinality(v_ids);
    end if;
    update ${schema}.bulk_item i set started_at = v_now,
      cycle = i.cycle + case b.verb when 'republish' then 0 else 1 end,
      rerun = i.rerun + case b.verb when 'republish' then 1 else 0 end,
      outcome = case b.verb when 'discard' then ${DISCARDED} else ${STARTED} end,
      ended_at = case b.verb when 'discard' then v_now end
      where i.bulk = b.id and i.place = any (v_places);
    ${count('selected')} := ${count('selected')} - v_count;
    if b.verb = 'discard' then ${count('discarded')} := ${count('discarded')} + v_count;
    else ${count('started')} := ${count('started')} + v_count; end if;
    select coalesce(min(i.place) - 1, v_all[cardinality(v_all)], b.begun) into b.begun
      from ${schema}.bulk_item i where i.bulk = b.id and i.place = any (v_all) and i.outcome = ${SELECTED};
    if b.per_second is not null then b.next_at := b.next_at + v_count / b.per_second * interval '1 second'; end if;
    b := ${schema}.bulk_unpack(b);
    return b;
  end $$`;
}

/** Whether canaries let the rest go on, whether it is over, and when it is to be looked at again. */
function decideFunction(schema: string): string {
  return `create function ${schema}.bulk_decide(b ${schema}.bulk, p_is_moving boolean) returns ${schema}.bulk language plpgsql as $$
  declare
    v_now timestamptz := clock_timestamp();
    v_next int;
  begin
    if b.state = 'canary' then
      select min(i.place) into v_next from ${schema}.bulk_item i where i.bulk = b.id and i.place = b.begun + 1 and i.outcome = ${SELECTED};
      if ${count('failed')} > 0 then
        b.state := 'paused';
        b.is_canary_over := true;
        b.paused_for := format('%s of %s canaries failed again', ${count('failed')}, least(b.canary, b.total));
      elsif ${count('started')} = 0 and (v_next is null or v_next > b.canary_to) then
        -- A canary that somebody else has dealt with proves nothing: the next ones take its place.
        if ${count('succeeded')} >= b.canary or v_next is null then
          b.state := 'running';
          b.is_canary_over := true;
        else
          b.canary_to := least(b.total, b.canary_to + b.canary - ${count('succeeded')});
        end if;
      end if;
    end if;
    b.look_at := null;
    if ${count('selected')} + ${count('started')} = 0 then
      b.state := case b.state when 'cancelled' then 'cancelled' else 'done' end;
      b.paused_for := null;
      b.ended_at := v_now;
      return b;
    end if;
    if ${count('started')} > 0 then
      b.look_at := case when p_is_moving and b.followed > b.ended_to then v_now else v_now + interval '${FOLLOW_MS} milliseconds' end;
    end if;
    if b.state = 'running' and ${count('selected')} > 0
      or b.state = 'canary' and exists (select from ${schema}.bulk_item i
        where i.bulk = b.id and i.outcome = ${SELECTED} and i.place > b.begun and i.place <= b.canary_to) then
      b.look_at := least(b.look_at, case when b.next_at > v_now then b.next_at when p_is_moving then v_now
        else v_now + interval '${LOCKED_MS} milliseconds' end);
    end if;
    return b;
  end $$`;
}

/** One step of the operation that is due for the longest, if there is one. Tells when the next is due, of all. */
function stepFunction(schema: string): string {
  return `create function ${schema}.bulk_step() returns jsonb language plpgsql as $$
  declare
    b ${schema}.bulk;
    v_before int[];
    v_is_found boolean;
  begin
    select * into b from ${schema}.bulk where look_at <= clock_timestamp() order by look_at limit 1 for update skip locked;
    v_is_found := found;
    if v_is_found then
      v_before := b.counts;
      if ${count('started')} > 0 then b := ${schema}.bulk_follow(b); end if;
      -- A canary that has just failed stops what would be begun now.
      if b.state = 'canary' then b := ${schema}.bulk_decide(b, true); end if;
      if b.state in ('canary', 'running') then b := ${schema}.bulk_begin(b); end if;
      b := ${schema}.bulk_decide(b, b.counts <> v_before);
      update ${schema}.bulk u set state = b.state, paused_for = b.paused_for, ended_at = b.ended_at, counts = b.counts,
        canary_to = b.canary_to, is_canary_over = b.is_canary_over, next_at = b.next_at, look_at = b.look_at, followed = b.followed,
        begun = b.begun, ended_to = b.ended_to, unpacked = b.unpacked
        where u.id = b.id;
    end if;
    return jsonb_build_object('isStepped', v_is_found,
      'started', coalesce(${count('selected', 'v_before')} + ${count('skipped', 'v_before')} - ${count('selected')} - ${count('skipped')}, 0),
      'ended', coalesce(${count('selected', 'v_before')} + ${count('started', 'v_before')} - ${count('selected')} - ${count('started')}, 0),
      'againInMs', (select greatest(case when v_is_found then 0 else ${LOCKED_MS} end,
          ceil(extract(epoch from min(o.look_at) - clock_timestamp()) * 1000))::int
        from ${schema}.bulk o where o.look_at is not null having count(*) > 0));
  end $$`;
}

/** What a person does to an operation. Answers why not, where its state does not allow it. */
function changeFunction(schema: string): string {
  return `create function ${schema}.bulk_change(p_id uuid, p_verb text, p_actor text, p_reason text) returns jsonb language plpgsql as $$
  declare
    b ${schema}.bulk;
    v_problem text;
  begin
    select * into b from ${schema}.bulk where id = p_id for update;
    if not found then return jsonb_build_object('kind', 'not-found'); end if;
    v_problem := case
      when p_verb = 'start' and b.state <> 'planned' then 'it was started already, and is ' || b.state
      when p_verb = 'start' and b.created_at < clock_timestamp() - interval '1 hour'
        then 'it was planned more than an hour ago: plan it again'
      when p_verb = 'start' and b.verb = 'discard' and coalesce(p_reason, b.reason) is null then 'a discard needs a reason: say why'
      when p_verb = 'pause' and b.state not in ('canary', 'running') then 'it is ' || b.state || ': there is nothing to pause'
      when p_verb = 'resume' and b.state <> 'paused' then 'it is ' || b.state || ', not paused'
      when p_verb = 'cancel' and b.state in ('cancelled', 'done') then 'it is ' || b.state || ' already'
    end;
    if v_problem is not null then return jsonb_build_object('kind', 'refused', 'problem', v_problem); end if;
    b.paused_for := null;
    if p_verb = 'start' then
      b.started_at := clock_timestamp();
      b.actor := p_actor;
      b.reason := coalesce(p_reason, b.reason);
    end if;
    if p_verb = 'pause' then
      b.state := 'paused';
      b.paused_for := 'paused by ' || p_actor || coalesce(': ' || p_reason, '');
    elsif p_verb = 'cancel' then
      -- Its items stay as they are, however many: what is selected of a cancelled operation is dropped.
      b.state := 'cancelled';
      b.cancelled_at := clock_timestamp();
      ${count('dropped')} := ${count('selected')};
      ${count('selected')} := 0;
    else
      b.state := case when b.canary > 0 and not b.is_canary_over then 'canary' else 'running' end;
      b.next_at := case when b.per_second is not null then clock_timestamp() end;
    end if;
    b := ${schema}.bulk_decide(b, true);
    update ${schema}.bulk u set state = b.state, paused_for = b.paused_for, ended_at = b.ended_at, counts = b.counts,
      actor = b.actor, reason = b.reason, started_at = b.started_at, cancelled_at = b.cancelled_at, canary_to = b.canary_to, is_canary_over = b.is_canary_over,
      next_at = b.next_at, look_at = b.look_at where u.id = b.id;
    insert into ${schema}.audit (actor, verb, reason, details)
      values (p_actor, p_verb || '-bulk', p_reason, jsonb_build_object('bulk', b.id, 'verb', b.verb, 'total', b.total));
    return jsonb_build_object('kind', 'changed');
  end $$`;
}
