import { DELIVERY_HANDLER, DELIVERY_SERVICE } from '../../delivery/delivery-request.ts';

/** Requests to one endpoint at once: a slow one must not take all that a process can have on their way. */
const PARALLELISM = 20;

/**
 * Registered endpoints. The messages of one stand in the line of a flow-control key of its own, `endpoint:<id>`: its rate is that key's,
 * and while it is disabled the key is paused, so that what waits costs nothing and goes on when it is enabled.
 *   event_types  patterns; `["*"]` where all are wanted
 *   secrets      `[{ sealed, until }]`, the newest first and without an end
 */
export function endpointTables(schema: string): readonly string[] {
  return [
    `create table ${schema}.http_endpoint (
      id text primary key,
      url text not null,
      description text,
      event_types jsonb not null,
      headers jsonb not null,
      retry_seconds jsonb not null,
      timeout_ms int,
      rate_per_second int,
      is_enabled boolean not null default true,
      disabled_because text check (disabled_because in ('operator', 'gone', 'failing')),
      disabled_at timestamptz,
      failing_since timestamptz,
      secrets jsonb not null,
      created_at timestamptz not null default clock_timestamp(),
      updated_at timestamptz not null default clock_timestamp())`,
    `create index http_endpoint_wants on ${schema}.http_endpoint using gin (event_types) where is_enabled`,
    putFunction(schema),
    switchFunction(schema),
    noteFunction(schema),
    sendFunction(schema),
    resendFunction(schema),
    recoverFunction(schema),
    cancelFunction(schema),
  ];
}

/** Writes what an endpoint is to be (the row as JSON), and the rules of its line. Answers false where it must be there and is not. */
function putFunction(schema: string): string {
  return `create function ${schema}.http_endpoint_put(p_row text, p_is_new boolean, p_actor text, p_reason text) returns boolean language plpgsql as $body$
    declare
      n record;
    begin
      select * into n from json_to_record(p_row::json) as n (id text, url text, description text, event_types jsonb, headers jsonb,
        retry_seconds jsonb, timeout_ms int, rate_per_second int, secrets jsonb);
      if p_is_new then
        insert into ${schema}.http_endpoint (id, url, description, event_types, headers, retry_seconds, timeout_ms, rate_per_second, secrets)
          values (n.id, n.url, n.description, n.event_types, n.headers, n.retry_seconds, n.timeout_ms, n.rate_per_second, n.secrets);
      else
        update ${schema}.http_endpoint e set url = n.url, description = n.description, event_types = n.event_types, headers = n.headers,
          retry_seconds = n.retry_seconds, timeout_ms = n.timeout_ms, rate_per_second = n.rate_per_second, updated_at = clock_timestamp()
        where e.id = n.id;
        if not found then return false; end if;
      end if;
      insert into ${schema}.http_flow (key, parallelism, rate, period_ms, is_parallelism_pinned, is_rate_pinned)
        values ('endpoint:' || n.id, ${PARALLELISM}, n.rate_per_second, case when n.rate_per_second is not null then 1000 end, true, true)
        on conflict (key) do update set rate = excluded.rate, period_ms = excluded.period_ms, is_rate_pinned = true, tx = pg_current_xact_id();
      insert into ${schema}.audit (actor, verb, reason, details) values (p_actor,
        case when p_is_new then 'create-endpoint' else 'update-endpoint' end, p_reason, jsonb_build_object('endpoint', n.id, 'url', n.url));
      return true;
    end $body$`;
}

/** Enables or disables. Audited where that changes something. False: there is none. */
function switchFunction(schema: string): string {
  return `create function ${schema}.http_endpoint_switch(p_id text, p_enabled boolean, p_because text, p_actor text, p_reason text)
  returns boolean language plpgsql as $body$
    declare
      v_was boolean;
    begin
      select e.is_enabled into v_was from ${schema}.http_endpoint e where e.id = p_id for update;
      if not found then return false; end if;
      -- One that is enabled begins anew: what it did before does not count against it.
      update ${schema}.http_endpoint e set is_enabled = p_enabled, updated_at = clock_timestamp(),
        disabled_because = case when p_enabled then null when v_was then p_because else e.disabled_because end,
        disabled_at = case when p_enabled then null when v_was then clock_timestamp() else e.disabled_at end,
        failing_since = case when p_enabled then null else e.failing_since end
      where e.id = p_id and e.is_enabled <> p_enabled;
      update ${schema}.http_flow f set is_paused = not p_enabled, tx = pg_current_xact_id()
        where f.key = 'endpoint:' || p_id and f.is_paused = p_enabled;
      if v_was <> p_enabled then
        insert into ${schema}.audit (actor, verb, reason, details) values (p_actor,
          case when p_enabled then 'enable-endpoint' else 'disable-endpoint' end, p_reason,
          jsonb_strip_nulls(jsonb_build_object('endpoint', p_id, 'because', case when not p_enabled then p_because end)));
      end if;
      return true;
    end $body$`;
}

/** How an attempt ended: 'well', 'failed' or 'gone'. Answers why it is disabled now, if this did it. */
function noteFunction(schema: string): string {
  return `create function ${schema}.http_endpoint_note(p_id text, p_answer text, p_failing_ms float8) returns text language plpgsql as $body$
    declare
      v_because text;
    begin
      if p_answer = 'well' then
        update ${schema}.http_endpoint set failing_since = null where id = p_id and failing_since is not null;
        return null;
      end if;
      update ${schema}.http_endpoint set failing_since = clock_timestamp() where id = p_id and failing_since is null;
      select case when p_answer = 'gone' then 'gone'
          when e.failing_since <= clock_timestamp() - p_failing_ms * interval '1 millisecond' then 'failing' end into v_because
        from ${schema}.http_endpoint e where e.id = p_id and e.is_enabled;
      if v_because is not null then
        perform ${schema}.http_endpoint_switch(p_id, false, v_because, '${DELIVERY_SERVICE}', case v_because when 'gone' then
          'it answered 410 Gone' else 'nothing but failures for too long' end);
      end if;
      return v_because;
    end $body$`;
}

/**
 * Takes the messages of one event in, once for its key. Only for endpoints that are still enabled. Answers the ids, with those of the
 * first time where it was sent before; null: there is no room. `p_audit`, `{ verb, reason, details }`: an operator sends it.
 */
function sendFunction(schema: string): string {
  return `create function ${schema}.http_webhook_send(p_event text, p_dedup_ms float8, p_input text, p_actor text, p_audit text) returns text language plpgsql as $body$
    declare
      input text;
    begin
      if (select is_full from ${schema}.meta) then return null; end if;
      if p_dedup_ms is not null then
        insert into ${schema}.dedup (key, id, expires_at)
          values ('webhook:' || p_event, gen_random_uuid(), now() + p_dedup_ms * interval '1 millisecond')
          on conflict (key) do update set id = excluded.id, expires_at = excluded.expires_at where dedup.expires_at <= now();
        if not found then
          return json_build_object('isDuplicate', true, 'messageIds', coalesce((select json_agg(l.message) from ${schema}.trace_link l
            where l.id = left(p_event, 200) and exists (select from ${schema}.http_event e where e.message_id = l.message)), '[]'));
        end if;
      end if;
      select json_agg(m)::text into input from json_array_elements(p_input::json) m
        where exists (select from ${schema}.http_endpoint e where e.id = m -> 'payload' ->> 'endpointId' and e.is_enabled);
      if p_audit is not null then
        insert into ${schema}.audit (actor, verb, reason, details)
          select p_actor, a.verb, a.reason, a.details || jsonb_build_object('event', p_event, 'messages', coalesce(json_array_length(input::json), 0))
          from json_to_record(p_audit::json) as a (verb text, reason text, details jsonb);
      end if;
      if input is not null then perform ${schema}.http_take_in(input, false, 0, p_actor); end if;
      return json_build_object('isDuplicate', false, 'messageIds', coalesce((select json_agg(m ->> 'id')
        from json_array_elements(input::json) m), '[]'));
    end $body$`;
}

function handlerOf(schema: string): string {
  return `(select h.id from ${schema}.handler h where h.service = '${DELIVERY_SERVICE}' and h.name = '${DELIVERY_HANDLER}')`;
}

/**
 * Puts one message of an endpoint in line again. One that was delivered begins another cycle, so that its attempts are new ones to the
 * log. False: it is none of this endpoint's, or forgotten.
 */
function resendFunction(schema: string): string {
  const mine = (table: string): string =>
    `from ${schema}.${table} d where d.id = p_message and d.payload ->> 'endpointId' = p_id`;
  return `create function ${schema}.http_endpoint_resend(p_id text, p_message uuid, p_actor text, p_reason text) returns boolean language plpgsql as $body$
    declare
      v_handler smallint;
      v_state smallint;
    begin
      perform pg_advisory_xact_lock(hashtextextended('${schema} operator ' || p_message, 0));
      select d.handler, d.state into v_handler, v_state ${mine('delivery')} for update;
      if found then
        if v_state = 2 then
          perform ${schema}.operator_replay(array[p_message], array[v_handler], null, p_actor, p_reason);
        end if;
        return true;
      end if;
      select d.handler into v_handler ${mine('delivered')} limit 1;
      if not found then return false; end if;
      perform ${schema}.operator_give(p_message, array[v_handler], null, p_actor, p_reason);
      update ${schema}.delivery d set cycle = greatest(d.cycle, (select coalesce(max(e.cycle), 0) + 1 from ${schema}.http_event e
        where e.message_id = p_message)) where d.id = p_message and d.handler = v_handler;
      return true;
    end $body$`;
}

/** Replays up to so many dead messages of an endpoint, the oldest first. */
function recoverFunction(schema: string): string {
  return `create function ${schema}.http_endpoint_recover(p_id text, p_since timestamptz, p_most int, p_actor text, p_reason text)
  returns int language plpgsql as $body$
    declare
      v_ids uuid[];
      v_handlers smallint[];
    begin
      select array_agg(d.id), array_agg(d.handler) into v_ids, v_handlers from (
        select d.id, d.handler from ${schema}.delivery d where d.state = 2 and d.failed_at >= p_since
          and d.payload @> jsonb_build_object('endpointId', p_id) order by d.failed_at, d.id limit p_most) d;
      if v_ids is null then return 0; end if;
      return ${schema}.operator_replay(v_ids, v_handlers, null, p_actor, p_reason);
    end $body$`;
}

/** Cancels up to so many messages that wait for an endpoint. */
function cancelFunction(schema: string): string {
  const unit = `l.id * (select units from ${schema}.meta) + ('x' || encode(substring(sha256(convert_to(v_line, 'UTF8')) from 1 for 2),
      'hex'))::bit(16)::int % (select units from ${schema}.meta)`;
  return `create function ${schema}.http_endpoint_cancel(p_id text, p_most int, p_actor text, p_reason text) returns int language plpgsql as $body$
    declare
      v_line text := 'flow:endpoint:' || p_id;
      v_ids uuid[];
      v_handlers smallint[];
    begin
      with open as (
        select d.id, d.handler, d.cycle from (select 0 as id union all select l.id from ${schema}.lane l where l.handler = ${handlerOf(schema)}) l,
          generate_series(0, 1) s (state), lateral (
            select d.id, d.handler, d.cycle from ${schema}.delivery d
            where d.unit = ${unit} and d.state = s.state and d.key = v_line limit p_most) d
        limit p_most),
      logged as (
        insert into ${schema}.http_event (message_id, cycle, attempt, state) select o.id, o.cycle, -1, 4 from open o on conflict do nothing)
      select array_agg(o.id), array_agg(o.handler) into v_ids, v_handlers from open o;
      if v_ids is null then return 0; end if;
      return ${schema}.operator_discard(v_ids, v_handlers, true, 2::smallint, p_actor, p_reason);
    end $body$`;
}
