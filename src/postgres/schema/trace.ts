import { LINK_LENGTH } from '../fan-out.ts';

/**
 * What lets one action be followed by any id of it.
 *
 *   trace_link  the messages that have a correlation or causation id of their own, by these ids (their first characters). Other
 *               messages have no row here: sending them costs what it did. Forgotten with the message
 *   fact        what leaves no row of its own elsewhere: requests at routes, outgoing calls (one for each attempt), runs that
 *               failed, notes. `ids` holds every id it can be found by but the person's, `fields` what is shown.
 *               Its id tells the time: forgetting the old ones needs no further index
 */
export function traceTables(schema: string): readonly string[] {
  return [
    `create table ${schema}.trace_link (id text not null, message uuid not null, at timestamptz not null default now())`,
    `create index trace_link_id on ${schema}.trace_link (id)`,
    `create index trace_link_at on ${schema}.trace_link (at)`,
    `create table ${schema}.fact (
      id uuid primary key,
      at timestamptz not null,
      service text not null,
      kind text not null,
      is_ok boolean,
      user_id text,
      ids text[] not null,
      fields jsonb not null)`,
    `create index fact_ids on ${schema}.fact using gin (ids)`,
    // The latest of one person: read in this order, however many there are.
    `create index fact_user on ${schema}.fact (user_id, id) where user_id is not null`,
    `create index inbox_source on ${schema}.inbox (left(source_id, ${LINK_LENGTH}))`,
  ];
}

/** A look-up never reads the whole history, whatever the estimates are on the day: there may be millions of rows of it. */
const LOOK_UP = `language plpgsql stable set enable_seqscan = off set jit = off set plan_cache_mode = force_custom_plan`;

/** Answering "what belongs to these ids". After all tables: the bodies name them. */
export function traceFunctions(schema: string): readonly string[] {
  return [findFunction(schema), prefixFunction(schema), messagesFunction(schema)];
}

/** Which messages and facts go by one of these ids, and as what. Each way gives at most `most`. */
function findFunction(schema: string): string {
  const each = (as: string, from: string): string =>
    `select '${as}'::text, x.id::text from given g cross join lateral (${from} limit most) x`;
  return `create function ${schema}.trace_find(wanted text[], most int) returns table (via text, found text) ${LOOK_UP} as $body$
    #variable_conflict use_column
    begin
      return query
      with given as materialized (select w.id, left(w.id, ${LINK_LENGTH}) as short from unnest(wanted) as w (id)),
      numbered as materialized (
        select w.id::uuid as id from given w where w.id ~ '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$')
      select 'event'::text, n.id::text from numbered n
      where exists (select from ${schema}.delivery d where d.id = n.id) or exists (select from ${schema}.delivered d where d.id = n.id)
      union all ${each('link', `select l.message as id from ${schema}.trace_link l where l.id = g.short`)}
      union all ${each('key', `select k.id from ${schema}.dedup k where k.key = g.id`)}
      union all ${each('source', `select i.id from ${schema}.inbox i where left(i.source_id, ${LINK_LENGTH}) = g.short and i.source_id = g.id`)}
      union all (select 'fact', ${factJson('f')} from ${schema}.fact f where f.ids && (select array_agg(short) from given) limit most);
    end $body$`;
}

/** A fact as JSON. */
export function factJson(fact: string): string {
  return `json_build_object('id', ${fact}.id, 'at', ${fact}.at, 'service', ${fact}.service, 'kind', ${fact}.kind,
    'isOk', ${fact}.is_ok, 'userId', ${fact}.user_id, 'fields', ${fact}.fields)::text`;
}

/** The messages whose ids lie between two, at most `most` of them: what an id may mean whose end is missing. */
function prefixFunction(schema: string): string {
  const between = (table: string): string =>
    `(select d.id, d.type, d.created_at from ${schema}.${table} d where d.id between low and high order by d.id limit most * 8)`;
  return `create function ${schema}.trace_prefix(low uuid, high uuid, most int) returns table (message text) ${LOOK_UP} as $body$
    begin
      return query select json_build_object('id', d.id, 'type', min(d.type), 'createdAt', min(d.created_at))::text
        from (${between('delivery')} union all ${between('delivered')}) d group by d.id order by d.id limit most;
    end $body$`;
}

/** All that is known of these messages but their payloads, each as one JSON. */
function messagesFunction(schema: string): string {
  const shared = `'handler', d.handler, 'service', h.service, 'name', h.name, 'attempts', d.attempts, 'cycle', d.cycle,
    'rerun', d.rerun, 'version', d.version, 'error', d.error - 'stack', 'firstFailedAt', d.first_failed_at,
    'failureHistory', d.failure_history`;
  const envelope = `d.type, d.key, d.source, d.idempotency_key, d.correlation_id, d.causation_id, d.created_at`;
  return `create function ${schema}.trace_messages(wanted uuid[]) returns table (message text) ${LOOK_UP} as $body$
    begin
      return query
      with d as materialized (
        select d.id, ${envelope}, json_build_object(${shared},
          'status', (array['ready', 'waiting', 'failed'])[d.state + 1], 'dueAt', d.due_at, 'failedAt', d.failed_at,
          'doneAt', null, 'durationMs', null, 'reason', null, 'actor', null,
          'running', (select json_build_object('worker', r.worker, 'attempt', r.attempt, 'startedAt', r.started_at)
            from ${schema}.live_run r where r.id = d.id and r.handler = d.handler)) as delivery
        from unnest(wanted) as w (id) join ${schema}.delivery d on d.id = w.id
          left join ${schema}.handler h on h.id = d.handler
        union all
        select d.id, ${envelope}, json_build_object(${shared},
          'status', (array['delivered', 'discarded', 'cancelled'])[d.outcome + 1], 'dueAt', null, 'failedAt', null,
          'doneAt', d.done_at, 'durationMs', d.duration_ms, 'reason', d.reason, 'actor', d.actor, 'running', null)
        from unnest(wanted) as w (id) join ${schema}.delivered d on d.id = w.id
          left join ${schema}.handler h on h.id = d.handler),
      e as (
        select d.id, min(d.type) as type, min(d.key) as key, min(d.source) as source, min(d.created_at) as created_at,
          min(d.idempotency_key) as idempotency_key, min(d.correlation_id) as correlation_id,
          min(d.causation_id) as causation_id, json_agg(d.delivery) as deliveries
        from d group by d.id)
      select json_build_object('id', e.id, 'type', e.type, 'key', e.key, 'source', e.source, 'createdAt', e.created_at,
        'idempotencyKey', e.idempotency_key, 'correlationId', e.correlation_id, 'causationId', e.causation_id,
        'deliveries', e.deliveries,
        'arrivals', (select json_agg(json_build_object('takenAs', i.taken_as, 'sourceId', i.source_id, 'firstAt', i.first_at,
            'lastAt', i.last_at, 'times', i.times)) from ${schema}.inbox i where i.id = e.id),
        'changes', (select json_agg(json_build_object('at', a.at, 'actor', a.actor, 'verb', a.verb, 'reason', a.reason,
            'handler', a.handler, 'service', h.service, 'name', h.name, 'details', a.details) order by a.id)
          from ${schema}.audit a left join ${schema}.handler h on h.id = a.handler where a.message_id = e.id))::text
      from e;
    end $body$`;
}
