import { DELIVERY_TYPE } from '../../delivery/delivery-request.ts';
import { PAGE_SETTINGS } from '../operator/message-list-function.ts';
import { handlerOf } from './line-waiting.ts';
import { storedNameSql } from './tenant-sql.ts';
import { arrayOf, FITS_ANY_REQUEST, requestFits, SELECTION_VARIABLES, timeFits } from './selection.ts';

/** How many rows a statement reads at most, whatever is selected; its result then says where to go on. */
const WALK_LIMIT = 10_000;
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
    cancelPick(schema),
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

/**
 * Opens a cursor over a table, or over the rows of the selected ids alone: those are few, and are sorted. "offset 0" keeps it so; one query
 * for both would be planned to walk over all of it in its order.
 */
function byIds(cursor: string, table: string, id: string, query: (from: string) => string): string {
  const [, alias = ''] = table.split(' ');
  return `if t_ids is null then
        open ${cursor} for ${query(table)};
      else
        open ${cursor} for ${query(`(select * from ${table} where ${id} = any (t_ids) offset 0) ${alias}`)};
      end if;`;
}

const flowOf = (schema: string): string =>
  `(select json_build_object('parallelism', w.parallelism, 'rate', w.rate, 'periodMs', w.period_ms)
          from ${schema}.http_flow w where w.key = ${storedNameSql('d.payload', 'flowKey')})`;

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
  const range = `d.id < t_below and d.id >= t_first`;
  const fits = `${isOurs(schema)} and ${timeFits('d.created_at')} and ${requestFits('d.payload')} as fits`;
  const walk = (rows: string, table: string, isIn: string): string =>
    byIds(
      rows,
      `${schema}.${table} d`,
      'd.id',
      (from) => `select d.id, (${isIn}) and ${fits} from ${from} where ${range} order by d.id desc limit ${WALK_LIMIT}`,
    );
  const isOpenIn = `t_state is null or t_state = 'failed' and d.state = 2 or t_state = 'waiting' and d.state < 2`;
  const isDoneIn = `t_state is null or d.outcome = array_position(array['delivered', 'failed', 'cancelled'], t_state) - 1`;
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
      ${walk('open_rows', 'delivery', isOpenIn)}
      ${walk('done_rows', 'delivered', isDoneIn)}
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

/** Up to `limit` open messages that fit, below an id, the newest first, and below which id to go on. */
function cancelPick(schema: string): string {
  return `create function ${schema}.http_cancel_pick(filter text, out ids uuid[], out handlers smallint[], out next text) language plpgsql stable ${PAGE_SETTINGS} as $body$
    declare
      ${SELECTION_VARIABLES}
      t_below constant uuid := (f ->> 'below')::uuid;
      t_limit constant int := (f ->> 'limit')::int;
      seen int := 0;
      r record;
      rows refcursor;
    begin
      ids := '{}';
      handlers := '{}';
      ${byIds(
        'rows',
        `${schema}.delivery d`,
        'd.id',
        (
          from,
        ) => `select d.id, d.handler, d.state < 2 and ${isOurs(schema)} and ${timeFits('d.created_at')} and ${requestFits('d.payload')} as fits
          from ${from} where d.id < t_below order by d.id desc, d.handler desc limit ${WALK_LIMIT}`,
      )}
      loop
        fetch rows into r;
        exit when not found;
        seen := seen + 1;
        if r.fits then
          ids := ids || r.id;
          handlers := handlers || r.handler;
        end if;
        if cardinality(ids) >= t_limit or seen >= ${WALK_LIMIT} then
          next := r.id;
          return;
        end if;
      end loop;
    end $body$`;
}

/**
 * Cancels what is picked, as far as it is still open, with a line in the log; answers how many, and below which id to go on. Apart from the
 * picking, which is planned in a way of its own.
 */
function cancelStep(schema: string): string {
  return `create function ${schema}.http_cancel(filter text, p_actor text, p_reason text, out n int, out next text) language plpgsql as $body$
    declare
      p record;
      open_ids uuid[];
      open_handlers smallint[];
    begin
      select * into p from ${schema}.http_cancel_pick(filter);
      next := p.next;
      n := 0;
      if p.ids = '{}' then return; end if;
      with locked as (
        select d.id, d.handler, d.cycle from ${schema}.delivery d join unnest(p.ids, p.handlers) as k (id, handler) on d.id = k.id and d.handler = k.handler
        where d.state < 2 order by d.id, d.handler for update of d),
      logged as (
        insert into ${schema}.http_event (message_id, cycle, attempt, state) select l.id, l.cycle, -1, 4 from locked l on conflict do nothing)
      select array_agg(l.id), array_agg(l.handler) into open_ids, open_handlers from locked l;
      if open_ids is not null then
        n := ${schema}.operator_discard(open_ids, open_handlers, true, 2::smallint, p_actor, p_reason);
      end if;
    end $body$`;
}

/** The dead deliveries of a page, and where to go on: the latest first. */
function deadPick(schema: string): string {
  const place = `${exactly('r.failed_at')} || '~' || r.id`;
  const status = `(select e.status from ${schema}.http_event e where e.message_id = d.id and e.cycle = d.cycle and e.attempt > 0
              order by e.attempt desc limit 1)`;
  const picked = (
    from: string,
  ): string => `select d.id, d.handler, d.failed_at, ${isOurs(schema)} and ${requestFits('d.payload')}
            and (t_dead is null or d.id || '-' || d.cycle = any (t_dead)) and (t_status is null or ${status} = any (t_status)) as fits
          from ${from} where d.state = 2 and (t_before is null or d.failed_at <= t_before) and (t_from is null or d.failed_at >= t_from)
            and (t_below is null or (d.failed_at, d.id) < ((f ->> 'before')::timestamptz, t_below))
          order by d.failed_at desc, d.id desc limit ${WALK_LIMIT}`;
  return `create function ${schema}.http_dead_pick(filter text, out ids uuid[], out handlers smallint[], out next text) language plpgsql stable ${PAGE_SETTINGS} as $body$
    declare
      ${SELECTION_VARIABLES}
      t_status constant smallint[] := ${arrayOf('status', 'smallint')};
      t_dead constant text[] := ${arrayOf('dead', 'text')};
      t_limit constant int := (f ->> 'limit')::int;
      t_before constant timestamptz := least((f ->> 'before')::timestamptz, t_to);
      t_below constant uuid := (f ->> 'below')::uuid;
      seen int := 0;
      last_place text;
      r record;
      rows refcursor;
    begin
      ids := '{}';
      handlers := '{}';
      ${byIds('rows', `${schema}.delivery d`, 'd.id', picked)}
      loop
        fetch rows into r;
        exit when not found;
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

/**
 * Lines of the log from a place on, that included, as JSON texts; at last where to go on, if the walk was long enough. What a line is about
 * is looked up in the query that is walked over: an expression of the loop would be planned anew for each row.
 */
function logList(schema: string): string {
  const created = `(select c.request from ${schema}.http_event c where c.message_id = e.message_id and c.cycle = 0 and c.attempt = 0)`;
  const kept = ['delivery', 'delivered'].map(
    (table) => `(select d.payload from ${schema}.${table} d where d.id = e.message_id limit 1)`,
  );
  const request = `coalesce(e.request, ${[created, ...kept].join(', ')})`;
  const walked = (
    from: string,
  ): string => `select e.message_id, e.cycle, e.attempt, e.at, (t_states is null or e.state = any (t_states)) and (${FITS_ANY_REQUEST} or (
            select ${requestFits('s.request')} from (select ${request} as request offset 0) s)) as fits
          from ${from} where (t_last is null or e.at <= t_last) and (t_from is null or e.at >= t_from)
            and (t_at is null or (e.at, e.message_id, e.cycle, e.attempt) <= (t_at, t_message, t_cycle, t_attempt))
          order by e.at desc, e.message_id desc, e.cycle desc, e.attempt desc limit ${WALK_LIMIT}`;
  return `create function ${schema}.http_log_list(filter text) returns setof text language plpgsql stable ${PAGE_SETTINGS} as $body$
    #variable_conflict use_column
    declare
      ${SELECTION_VARIABLES}
      t_states constant smallint[] := ${arrayOf('states', 'smallint')};
      t_limit constant int := (f ->> 'limit')::int;
      t_at constant timestamptz := (f ->> 'at')::timestamptz;
      t_last constant timestamptz := least(t_at, t_to);
      t_message constant uuid := (f ->> 'message')::uuid;
      t_cycle constant int := (f ->> 'cycle')::int;
      t_attempt constant int := (f ->> 'attempt')::int;
      ids uuid[] := '{}';
      cycles int[] := '{}';
      attempts int[] := '{}';
      seen int := 0;
      r record;
      last_place text;
      rows refcursor;
    begin
      ${byIds('rows', `${schema}.http_event e`, 'e.message_id', walked)}
      loop
        fetch rows into r;
        exit when not found;
        seen := seen + 1;
        -- A text and not the row: of a log without a line there is none, and its fields could not be named.
        if seen >= ${WALK_LIMIT} then last_place := ${placeOf('r')}; end if;
        if r.fits then
          ids := ids || r.message_id;
          cycles := cycles || r.cycle;
          attempts := attempts || r.attempt;
          exit when cardinality(ids) > t_limit;
        end if;
      end loop;
      return query select json_build_object('place', ${placeOf('e')}, 'messageId', e.message_id, 'attempt', e.attempt, 'state', e.state,
          'actor', e.actor, 'at', e.at, 'startedAt', e.started_at, 'nextAt', e.next_at, 'error', e.error, 'responseStatus', e.status,
          'responseHeaders', e.headers, 'responseBase64', encode(e.body, 'base64'),
          'request', case when octet_length(coalesce(q.request ->> 'body', q.request ->> 'bodyBase64')) > ${LOGGED_BODY}
            then q.request - 'body' - 'bodyBase64' else q.request end)::text
        from unnest(ids, cycles, attempts) with ordinality k (id, cycle, attempt, place)
          join ${schema}.http_event e on e.message_id = k.id and e.cycle = k.cycle and e.attempt = k.attempt
          cross join lateral (select coalesce(${[...kept, created].join(', ')}) as request offset 0) q
        order by k.place;
      return next json_build_object('end', case when seen >= ${WALK_LIMIT} and cardinality(ids) <= t_limit then last_place end)::text;
    end $body$`;
}

/** Where a line of the log is, as its cursor has it. */
function placeOf(row: string): string {
  return `${exactly(`${row}.at`)} || '~' || ${row}.message_id || '~' || ${row}.cycle || '~' || ${row}.attempt`;
}
