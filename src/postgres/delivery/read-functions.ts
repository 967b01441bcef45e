import { DELIVERY_TYPE } from '../../delivery/delivery-request.ts';
import { PAGE_SETTINGS } from '../operator/message-list-function.ts';
import { handlerOf } from './line-waiting.ts';
import { requestFits, SELECTION_VARIABLES, timeFits } from './selection.ts';

/** How many rows a call reads at most, whatever is selected; the answer then says where to go on. */
const WALK_LIMIT = 10_000;
/** How many messages one step cancels. */
const CANCEL_STEP = 500;
/** A longer body is left out of lines of the log. */
const LOGGED_BODY = 65_536;

/** A time as text that sorts, to the microsecond, for cursors. */
function exactly(time: string): string {
  return `to_char(${time} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
}

/**
 * Lists of deliveries, of dead ones and of the log, and cancelling by selection. Each walks in the order of an index, stops after
 * enough, and reads `${WALK_LIMIT}` rows at most.
 */
export function deliveryReads(schema: string): readonly string[] {
  return [
    messageRows(schema),
    messageList(schema),
    cancelThese(schema),
    cancelStep(schema),
    deadPick(schema),
    deadRows(schema),
    logList(schema),
  ];
}

/** A delivery `d` in the line of our handler, or of none yet. */
function isOurs(schema: string): string {
  return `d.type = '${DELIVERY_TYPE}' and d.handler in (0, coalesce(${handlerOf(schema)}, 0))`;
}

const flowOf = (schema: string): string =>
  `(select json_build_object('parallelism', w.parallelism, 'rate', w.rate, 'periodMs', w.period_ms)
          from ${schema}.http_flow w where w.key = d.payload ->> 'flowKey')`;

function recordOf(schema: string, state: string, nextAt: string): string {
  return `'messageId', d.id, 'request', d.payload, 'flow', ${flowOf(schema)}, 'state', ${state}, 'createdAt', d.created_at,
        'notBefore', coalesce((select e.next_at from ${schema}.http_event e where e.message_id = d.id and e.cycle = 0 and e.attempt = 0),
          d.created_at), 'nextAt', ${nextAt}, 'attempts', d.attempts`;
}

/** The messages of these ids as JSON texts, the newest first. Of one that ran several times, what it is now. */
function messageRows(schema: string): string {
  return `create function ${schema}.http_messages(ids uuid[]) returns setof text language sql stable set jit = off set enable_seqscan = off as $body$
      select row from (
        select distinct on (m.id) m.id, m.row from (
          select d.id, 0 as place, d.created_at as at, json_build_object(${recordOf(schema, `case d.state when 2 then 'failed' else 'waiting' end`, 'd.due_at')})::text as row
          from ${schema}.delivery d where d.id = any (ids) and ${isOurs(schema)}
          union all
          select d.id, 1, d.done_at, json_build_object(${recordOf(schema, `(array['delivered', 'failed', 'cancelled'])[d.outcome + 1]`, 'null')})::text
          from ${schema}.delivered d where d.id = any (ids) and ${isOurs(schema)}) m
        order by m.id, m.place, m.at desc) m
      order by m.id desc
    $body$`;
}

/** A page: JSON texts, and at last where to go on. Two cursors, each in the order of its index: as one union all rows would be sorted. */
function messageList(schema: string): string {
  const range = `d.id < t_below and d.id >= t_first and (t_ids is null or d.id = any (t_ids))`;
  const fits = `${isOurs(schema)} and ${timeFits('d.created_at')} and ${requestFits('d.payload')} as fits`;
  const walk = (table: string, isIn: string): string =>
    `select d.id, (${isIn}) and ${fits} from ${schema}.${table} d where ${range} order by d.id desc limit ${WALK_LIMIT}`;
  return `create function ${schema}.http_message_list(filter text) returns setof text language plpgsql stable ${PAGE_SETTINGS} as $body$
    #variable_conflict use_column
    declare
      ${SELECTION_VARIABLES}
      t_state constant text := f ->> 'state';
      t_below constant uuid := (f ->> 'below')::uuid;
      t_first constant uuid := (f ->> 'first')::uuid;
      t_limit constant int := (f ->> 'limit')::int;
      ids uuid[] := '{}';
      seen int := 0;
      last_id uuid;
      r record;
      o record;
      e record;
      open_rows refcursor;
      done_rows refcursor;
    begin
      open open_rows for ${walk('delivery', `(t_state is null or t_state = 'failed' and d.state = 2 or t_state = 'waiting' and d.state < 2)`)};
      open done_rows for ${walk('delivered', `(t_state is null or d.outcome = array_position(array['delivered', 'failed', 'cancelled'], t_state) - 1)`)};
      fetch open_rows into o;
      fetch done_rows into e;
      while seen < ${WALK_LIMIT} and (o.id is not null or e.id is not null) loop
        if e.id is null or o.id >= e.id then
          r := o;
          fetch open_rows into o;
        else
          r := e;
          fetch done_rows into e;
        end if;
        seen := seen + 1;
        last_id := r.id;
        if r.fits and r.id is distinct from ids[cardinality(ids)] then
          ids := ids || r.id;
          exit when cardinality(ids) > t_limit;
        end if;
      end loop;
      close open_rows;
      close done_rows;
      return query select ${schema}.http_messages(ids[:t_limit]);
      return next json_build_object('end',
        case when cardinality(ids) > t_limit then ids[t_limit] when seen >= ${WALK_LIMIT} then last_id end)::text;
    end $body$`;
}

/** Cancels what fits of so many open messages below an id, the newest first; answers how many, and below which id to go on. */
function cancelStep(schema: string): string {
  return `create function ${schema}.http_cancel(filter text, p_actor text, p_reason text, out n int, out next text) language plpgsql ${PAGE_SETTINGS} as $body$
    declare
      ${SELECTION_VARIABLES}
      t_below constant uuid := (f ->> 'below')::uuid;
      ids uuid[] := '{}';
      handlers smallint[] := '{}';
      seen int := 0;
      r record;
    begin
      for r in select d.id, d.handler, d.state < 2 and ${isOurs(schema)} and ${timeFits('d.created_at')} and ${requestFits('d.payload')} as fits
          from ${schema}.delivery d where d.id < t_below and (t_ids is null or d.id = any (t_ids)) order by d.id desc, d.handler desc limit ${WALK_LIMIT} loop
        seen := seen + 1;
        if r.fits then
          ids := ids || r.id;
          handlers := handlers || r.handler;
        end if;
        if cardinality(ids) >= ${CANCEL_STEP} or seen >= ${WALK_LIMIT} then
          next := r.id;
          exit;
        end if;
      end loop;
      n := ${schema}.http_cancel_these(ids, handlers, p_actor, p_reason);
    end $body$`;
}

/**
 * Cancels these, as far as they are still open, with a line in the log. A function of its own: what it calls is planned as everywhere else.
 */
function cancelThese(schema: string): string {
  return `create function ${schema}.http_cancel_these(p_ids uuid[], p_handlers smallint[], p_actor text, p_reason text) returns int language plpgsql as $body$
    declare
      open_ids uuid[];
      open_handlers smallint[];
    begin
      with locked as (
        select d.id, d.handler, d.cycle from ${schema}.delivery d join unnest(p_ids, p_handlers) as p (id, handler) on d.id = p.id and d.handler = p.handler
        where d.state < 2 order by d.id, d.handler for update of d),
      logged as (
        insert into ${schema}.http_event (message_id, cycle, attempt, state) select l.id, l.cycle, -1, 4 from locked l on conflict do nothing)
      select array_agg(l.id), array_agg(l.handler) into open_ids, open_handlers from locked l;
      if open_ids is null then return 0; end if;
      return ${schema}.operator_discard(open_ids, open_handlers, true, 2::smallint, p_actor, p_reason);
    end $body$`;
}

/** The dead deliveries of a page, and where to go on: the latest first. */
function deadPick(schema: string): string {
  const place = `${exactly('r.failed_at')} || '~' || r.id`;
  return `create function ${schema}.http_dead_pick(filter text, out ids uuid[], out handlers smallint[], out next text) language plpgsql stable ${PAGE_SETTINGS} as $body$
    declare
      ${SELECTION_VARIABLES}
      t_status constant smallint := (f ->> 'status')::smallint;
      t_dead constant text[] := case when f ? 'dead' then array(select jsonb_array_elements_text(f -> 'dead')) end;
      t_limit constant int := (f ->> 'limit')::int;
      t_before constant timestamptz := least((f ->> 'before')::timestamptz, t_to);
      t_below constant uuid := (f ->> 'below')::uuid;
      seen int := 0;
      last_place text;
      r record;
    begin
      ids := '{}';
      handlers := '{}';
      for r in select d.id, d.handler, d.failed_at, ${isOurs(schema)} and ${requestFits('d.payload')}
            and (t_dead is null or d.id || '-' || d.cycle = any (t_dead))
            and (t_status is null or t_status = (select e.status from ${schema}.http_event e where e.message_id = d.id and e.cycle = d.cycle
              and e.attempt > 0 order by e.attempt desc limit 1)) as fits
          from ${schema}.delivery d where d.state = 2 and (t_before is null or d.failed_at <= t_before) and (t_from is null or d.failed_at >= t_from)
            and (t_below is null or (d.failed_at, d.id) < ((f ->> 'before')::timestamptz, t_below))
            and (t_ids is null or d.id = any (t_ids)) and (t_dead is null or d.id = any (array(select left(x, 36)::uuid from unnest(t_dead) x)))
          order by d.failed_at desc, d.id desc limit ${WALK_LIMIT} loop
        seen := seen + 1;
        if r.fits then
          if cardinality(ids) = t_limit then
            next := last_place;
            return;
          end if;
          ids := ids || r.id;
          handlers := handlers || r.handler;
        end if;
        last_place := ${place};
      end loop;
      if seen >= ${WALK_LIMIT} then next := last_place; end if;
    end $body$`;
}

/** Dead deliveries as JSON texts, the latest first, each with the answer of its last attempt. */
function deadRows(schema: string): string {
  return `create function ${schema}.http_dead(ids uuid[]) returns setof text language sql stable set jit = off set enable_seqscan = off as $body$
      select json_build_object(${recordOf(schema, `'failed'`, 'null')}, 'dlqId', d.id || '-' || d.cycle, 'failedAt', d.failed_at,
        'responseStatus', e.status, 'responseHeaders', e.headers, 'responseBase64', encode(e.body, 'base64'),
        'error', coalesce(e.error, d.error ->> 'message'))::text
      from ${schema}.delivery d left join lateral (
        select e.status, e.headers, e.body, e.error from ${schema}.http_event e where e.message_id = d.id and e.cycle = d.cycle and e.attempt > 0
        order by e.attempt desc limit 1) e on true
      where d.id = any (ids) and d.state = 2 and ${isOurs(schema)} order by d.failed_at desc, d.id desc
    $body$`;
}

/** Lines of the log from a place on, that included, as JSON texts; at last where to go on, if the walk was long enough. */
function logList(schema: string): string {
  const created = `(select c.request from ${schema}.http_event c where c.message_id = r.message_id and c.cycle = 0 and c.attempt = 0)`;
  const kept = ['delivery', 'delivered'].map(
    (table) => `(select d.payload from ${schema}.${table} d where d.id = r.message_id limit 1)`,
  );
  const place = `${exactly('r.at')} || '~' || r.message_id || '~' || r.cycle || '~' || r.attempt`;
  return `create function ${schema}.http_log_list(filter text) returns setof text language plpgsql stable
      ${PAGE_SETTINGS.replace('set enable_sort = off ', '')} as $body$
    #variable_conflict use_column
    declare
      ${SELECTION_VARIABLES}
      t_states constant smallint[] := case when f ? 'states' then array(select s::smallint from jsonb_array_elements_text(f -> 'states') s) end;
      t_limit constant int := (f ->> 'limit')::int;
      t_at constant timestamptz := (f ->> 'at')::timestamptz;
      t_last constant timestamptz := least(t_at, t_to);
      t_message constant uuid := (f ->> 'message')::uuid;
      t_cycle constant int := (f ->> 'cycle')::int;
      t_attempt constant int := (f ->> 'attempt')::int;
      seen int := 0;
      given int := 0;
      r record;
      q jsonb;
    begin
      for r in select e.* from ${schema}.http_event e
          where (t_ids is null or e.message_id = any (t_ids)) and (t_last is null or e.at <= t_last) and (t_from is null or e.at >= t_from)
            and (t_at is null or (e.at, e.message_id, e.cycle, e.attempt) <= (t_at, t_message, t_cycle, t_attempt))
          order by e.at desc, e.message_id desc, e.cycle desc, e.attempt desc limit ${WALK_LIMIT} loop
        seen := seen + 1;
        if (t_states is null or r.state = any (t_states)) and (t_parts is null and t_host is null and t_path is null and t_labels is null or (
            select ${requestFits('s.request')} from (select coalesce(r.request, ${[created, ...kept].join(', ')}) as request) s)) then
          given := given + 1;
          q := coalesce(${[...kept, created].join(', ')});
          if octet_length(coalesce(q ->> 'body', q ->> 'bodyBase64')) > ${LOGGED_BODY} then q := q - 'body' - 'bodyBase64'; end if;
          return next json_build_object('place', ${place}, 'messageId', r.message_id, 'attempt', r.attempt, 'state', r.state, 'at', r.at,
            'startedAt', r.started_at, 'nextAt', r.next_at, 'error', r.error, 'responseStatus', r.status, 'responseHeaders', r.headers,
            'responseBase64', encode(r.body, 'base64'), 'request', q)::text;
          exit when given > t_limit;
        end if;
      end loop;
      return next json_build_object('end', case when seen >= ${WALK_LIMIT} and given <= t_limit then ${place} end)::text;
    end $body$`;
}
