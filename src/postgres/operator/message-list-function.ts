import { hiddenBySender } from './searched-payload.ts';

/** How many deliveries a call for a page of messages reads at most, and how many an index may give it to sort. */
const WALK_LIMIT = 10_000;

/** Under which a page is planned: with the filter's values known, and in the order of an index whatever the estimates of the day. */
export const PAGE_SETTINGS =
  'set plan_cache_mode = force_custom_plan set jit = off set enable_seqscan = off set enable_sort = off set max_parallel_workers_per_gather = 0';

// Conditions over a row `d`, by the variables of the function. Those that are null vanish from the plan.
const FITS = `(t_type is null or d.type = t_type) and (t_prefix is null or d.type ^@ t_prefix)
      and (t_key is null or d.key = t_key) and (t_handlers is null or d.handler = any (t_handlers))
      and (t_error is null or position(t_error in lower(concat_ws(' ', d.error ->> 'name', d.error ->> 'code', d.error ->> 'message'))) > 0)
      and (t_payload is null or d.payload @> t_payload) and (t_meets_hidden is null or not ${hiddenBySender('d')})`;
const OPEN_FITS = `${FITS} and (t_state is null or d.state = t_state)
      and (t_is_retry is null or (d.attempts > 0 or d.cycle > 0 or d.error is not null) = t_is_retry)`;
const DONE_FITS = `${FITS} and (t_outcome is null or d.outcome = t_outcome)`;

const TAKE = `seen := seen + 1;
          last_id := r.id;
          if r.fits and r.id is distinct from ids[cardinality(ids)] then
            ids := ids || r.id;
            exit when cardinality(ids) >= t_want;
          end if;`;

/**
 * A page of messages, the newest first, each delivery of them as a JSON text with whether it fits; at last where the page ended.
 *
 * It walks over open and finished deliveries in the order of their ids and stops after enough messages, or after `WALK_LIMIT`
 * deliveries. Where an index gives all that can fit, and that is no more than `WALK_LIMIT`, it walks over those alone. The last
 * message that was met is given in any case: the walk may have ended in the middle of its deliveries.
 */
export function messageListFunction(schema: string): string {
  return `create function ${schema}.message_list(filter text) returns setof text language plpgsql stable ${PAGE_SETTINGS} as $body$
    #variable_conflict use_column
    declare
      f constant jsonb := filter::jsonb;
      t_below constant uuid := (f ->> 'below')::uuid;
      t_from constant uuid := (f ->> 'from')::uuid;
      t_want constant int := (f ->> 'want')::int;
      t_type constant text := f ->> 'type';
      t_prefix constant text := f ->> 'prefix';
      t_key constant text := f ->> 'key';
      t_error constant text := lower(f ->> 'error');
      t_payload constant jsonb := f -> 'payload';
      t_meets_hidden constant boolean := (f ->> 'meetsHidden')::boolean;
      t_is_open constant boolean := coalesce((f ->> 'isOpen')::boolean, true);
      t_is_done constant boolean := coalesce((f ->> 'isDone')::boolean, true);
      t_state constant smallint := (f ->> 'state')::smallint;
      t_is_retry constant boolean := (f ->> 'isRetry')::boolean;
      t_outcome constant smallint := (f ->> 'outcome')::smallint;
      t_is_dead constant boolean := coalesce(t_state = 2, false);
      t_is_given_up constant boolean := coalesce(t_outcome > 0, false);
      t_handlers smallint[];
      narrow uuid[];
      ids uuid[] := '{}';
      seen int := 0;
      last_id uuid;
      r record;
      o record;
      e record;
      open_rows refcursor;
      done_rows refcursor;
    begin
      if f ? 'service' or f ? 'handler' then
        t_handlers := array(select h.id from ${schema}.handler h
          where (f ->> 'service' is null or h.service = f ->> 'service')
            and (f ->> 'handler' is null or h.name = f ->> 'handler' or h.service || '/' || h.name = f ->> 'handler'));
      end if;
      ${narrowed(schema)}
      if narrow is null then
        ${walk(schema)}
      else
        for r in ${walkNarrow(schema)} loop
          ${TAKE}
        end loop;
      end if;
      if seen >= ${WALK_LIMIT} and last_id is distinct from ids[cardinality(ids)] then
        ids := ids || last_id;
      end if;
      return query ${rows(schema)};
      return next json_build_object('end', case when cardinality(ids) >= t_want or seen >= ${WALK_LIMIT} then last_id end)::text;
    end $body$`;
}

function open(schema: string, condition: string): string {
  return `select d.id, ${OPEN_FITS} as fits from ${schema}.delivery d where t_is_open and ${condition}`;
}

function done(schema: string, condition: string): string {
  return `select d.id, ${DONE_FITS} as fits from ${schema}.delivered d where t_is_done and ${condition}`;
}

/**
 * The deliveries in their order; those of one message follow each other. Two cursors, each in the order of its index: as one union
 * the rows would be sorted, all of them.
 */
function walk(schema: string): string {
  const range = 'd.id < t_below and d.id >= t_from';
  const inOrder = `order by d.id desc limit ${WALK_LIMIT}`;
  return `open open_rows for ${open(schema, `${range} and (not t_is_dead or d.state = 2)`)} ${inOrder};
        open done_rows for ${done(schema, `${range} and (not t_is_given_up or d.outcome > 0)`)} ${inOrder};
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
          ${TAKE}
        end loop;
        close open_rows;
        close done_rows;`;
}

/** The same of the messages that were found by an index, which are in their order. "offset 0" keeps it a look-up for each. */
function walkNarrow(schema: string): string {
  return `select w.id, w.fits from unnest(narrow) n (id) cross join lateral (
            ${open(schema, 'd.id = n.id')} union all ${done(schema, 'd.id = n.id')} offset 0
          ) w limit ${WALK_LIMIT}`;
}

/**
 * All that can fit, where an index tells: what runs, what is in a state that few are in, dead letters by a value of their payload,
 * and the history by key or payload where it was indexed on request (`history_search`). Null where there is no such index, or
 * there are too many of them; then they are met often enough on the way.
 */
function narrowed(schema: string): string {
  const some = (condition: string): string =>
    `select d.id from ${schema}.delivery d where ${condition} limit ${WALK_LIMIT + 1}`;
  return `if f ? 'isRunning' then
        narrow := array(select r.id from ${schema}.live_run r);
      elsif t_state = 0 then
        narrow := array(${some('d.state = 0')});
      elsif t_state = 1 then
        narrow := array(${some('d.state = 1')});
      elsif t_is_dead and t_payload is not null then
        narrow := array(${some('d.state = 2 and d.payload @> t_payload')});
      elsif t_outcome is null and t_state is null and (t_key is not null or t_payload is not null)
        and to_regclass('${schema}.delivered_0_payload') is not null then
        ${narrowedHistory(schema)}
      end if;
      if cardinality(narrow) > ${WALK_LIMIT} then
        narrow := null;
      elsif narrow is not null then
        narrow := array(select distinct n.id from unnest(narrow) n (id) where n.id < t_below and n.id >= t_from order by n.id desc);
      end if;`;
}

function narrowedHistory(schema: string): string {
  const fits = '(t_key is null or d.key = t_key) and (t_payload is null or d.payload @> t_payload)';
  return `narrow := array(select d.id from ${schema}.delivered d where ${fits} limit ${WALK_LIMIT + 1});
        if t_is_open then
          narrow := narrow || array(select d.id from ${schema}.delivery d where ${fits} and d.id in (
            select o.id from ${schema}.delivery o limit ${WALK_LIMIT + 1}));
          -- Open ones are not indexed by what is in them: if there are many, they are walked over.
          if (select count(*) from (select from ${schema}.delivery limit ${WALK_LIMIT + 1}) o) > ${WALK_LIMIT} then
            narrow := null;
          end if;
        end if;`;
}

function rows(schema: string): string {
  const shared = `'id', d.id, 'type', d.type, 'key', d.key, 'source', d.source, 'target', d.target,
        'idempotencyKey', coalesce(d.idempotency_key, d.id::text), 'generation', d.generation, 'createdAt', d.created_at,
        'number', d.handler, 'service', h.service, 'handler', h.name, 'attempts', d.attempts, 'rerun', d.rerun,
        'error', coalesce(d.error ->> 'code', d.error ->> 'name', 'error') || ': ' || (d.error ->> 'message'),
        'firstFailedAt', d.first_failed_at`;
  return `select json_build_object(${shared}, 'state', d.state, 'dueAt', d.due_at, 'failedAt', d.failed_at,
        'isRetry', d.attempts > 0 or d.cycle > 0 or d.error is not null, 'fits', coalesce(t_is_open and ${OPEN_FITS}, false),
        'isRunning', exists (select from ${schema}.live_run r where r.id = d.id and r.handler = d.handler))::text
        from ${schema}.delivery d left join ${schema}.handler h on h.id = d.handler where d.id = any (ids)
        union all
        select json_build_object(${shared}, 'outcome', d.outcome, 'doneAt', d.done_at, 'fits', coalesce(t_is_done and ${DONE_FITS}, false))::text
        from ${schema}.delivered d left join ${schema}.handler h on h.id = d.handler where d.id = any (ids)`;
}
