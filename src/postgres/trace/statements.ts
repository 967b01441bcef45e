import { LINK_LENGTH } from '../fan-out.ts';

const UUID_PATTERN = '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$';

/** Of each id `g`, what is found by it: at most $2. */
function each(as: string, from: string, ids = 'given'): string {
  return `select '${as}'::text, x.found from ${ids} g cross join lateral (${from} limit $2) x`;
}

/**
 * What goes by one of the ids $1, and as what; each way gives at most $2. Messages as their ids, the others as JSON. One look into an
 * index for each id and way. By $3, what an id may be made of, only messages are found, of which each is one: whatever else goes by a
 * part of an id would take the place of what goes by all of it.
 */
export function findStatement(schema: string): string {
  return `with given as materialized (select w.id, left(w.id, ${LINK_LENGTH}) as short from unnest($1) as w (id)),
      parts as materialized (select w.id from unnest($1 || $3) as w (id)),
      numbered as materialized (select w.id::uuid as id from parts w where w.id ~ '${UUID_PATTERN}')
    select 'event'::text, n.id::text from numbered n cross join lateral (select from ${schema}.delivery d where d.id = n.id limit 1) d
    union all
    select 'event'::text, n.id::text from numbered n cross join lateral (select from ${schema}.delivered d where d.id = n.id limit 1) d
    union all ${each('link', `select l.message::text as found from ${schema}.trace_link l where l.id = g.short`)}
    union all ${each('key', `select k.id::text as found from ${schema}.dedup k where k.key = g.id`, 'parts')}
    union all ${each('source', `select i.id::text as found from ${schema}.inbox i where left(i.source_id, ${LINK_LENGTH}) = g.short and i.source_id = g.id`)}
    union all ${each('record', `select ${recordJson('i')} as found from ${schema}.idempotency i where i.id = g.id`)}
    union all (select 'fact'::text, ${factJson('f')} from ${schema}.fact f
      where f.ids && (select array_agg(g.short) from given g) limit $2)`;
}

/** A fact as JSON. */
function factJson(fact: string): string {
  return `json_build_object('id', ${fact}.id, 'at', ${fact}.at, 'service', ${fact}.service, 'kind', ${fact}.kind,
    'isOk', ${fact}.is_ok, 'userId', ${fact}.user_id, 'fields', ${fact}.fields)::text`;
}

/** An idempotency record as JSON, without what was answered. */
function recordJson(record: string): string {
  return `json_build_object('id', ${record}.id, 'domain', ${record}.domain, 'status', ${record}.status, 'run', ${record}.run,
    'updatedAt', ${record}.updated_at, 'expiresAt', ${record}.expires_at)::text`;
}

/** The latest facts of the person $1, at most $2. */
export function personFactsStatement(schema: string): string {
  return `select ${factJson('f')} as found from ${schema}.fact f where f.user_id = $1::text order by f.id desc limit $2::text::int`;
}

/** The latest commands that the person $1 has asked for, at most $2. */
export function personCommandsStatement(schema: string): string {
  return `select ${commandJson(schema, 'c')} as found from ${schema}.command c
    where c.correlation ->> 'userId' = $1::text order by c.created_at desc limit $2::text::int`;
}

/** Of each id `g`, the commands `c` that are found by it: at most $2. */
function commandsOf(from: string, ids = 'given'): string {
  return `select x.id from ${ids} g cross join lateral (select c.id from ${from} limit $2) x`;
}

/**
 * The commands that go by one of the ids $1, at most $2. By their target, which many share, only if $3 says so. By $4, what an id may be
 * made of, they are found as by a key.
 */
export function commandsStatement(schema: string): string {
  return `with recursive given as materialized (select w.id from unnest($1) as w (id)),
      parts as materialized (select w.id from unnest($1 || $4) as w (id)),
      -- The services, one step in the index of the keys for each.
      s as ((select c.service from ${schema}.command c order by c.service limit 1)
        union all select (select c.service from ${schema}.command c where c.service > s.service order by c.service limit 1)
          from s where s.service is not null),
      found as materialized (
        select n.id::uuid as id from given n where n.id ~ '${UUID_PATTERN}'
        union all ${commandsOf(
          `s cross join lateral (select c.id from ${schema}.command c
          where c.service = s.service and c.idempotency_key = g.id offset 0) c`,
          'parts',
        )}
        union all ${commandsOf(`${schema}.command c where $3 and c.target = g.id`)})
    select ${commandJson(schema, 'c')} from (select distinct f.id from found f limit $2) f
      cross join lateral (select * from ${schema}.command c where c.id = f.id offset 0) c`;
}

/** How many steps of one command are shown at most. */
const STEPS_OF_A_COMMAND = 200;

/** A command with its first steps, as JSON. */
function commandJson(schema: string, c: string): string {
  return `json_build_object('id', ${c}.id, 'service', ${c}.service, 'name', ${c}.name, 'target', ${c}.target, 'module', ${c}.module,
    'idempotencyKey', ${c}.idempotency_key, 'correlation', ${c}.correlation,
    'edits', (select count(*) from ${schema}.edit d where d.id = ${c}.id),
    'events', (select coalesce(json_agg(json_build_object('at', e.at, 'kind', e.kind, 'from', e.from_state, 'to', e.to_state,
        'attempt', e.attempt, 'error', e.error, 'actor', e.actor) order by e.n), '[]')
      from ${schema}.command_event e where e.command = ${c}.id and e.n <= ${STEPS_OF_A_COMMAND}))::text`;
}

/** The messages whose ids lie between $1 and $2, at most $3 of them: what an id may mean whose end is missing. */
export function prefixStatement(schema: string): string {
  // Several deliveries are one message.
  const between = (table: string): string =>
    `(select d.id, d.type, d.created_at from ${schema}.${table} d where d.id between $1 and $2 order by d.id limit $3 * 8)`;
  return `select json_build_object('id', d.id, 'type', min(d.type), 'createdAt', min(d.created_at))::text
    from (${between('delivery')} union all ${between('delivered')}) d group by d.id order by d.id limit $3`;
}

/** All that is known of the messages $1 but their payloads, each as one JSON. */
export function messagesStatement(schema: string): string {
  const shared = `'handler', d.handler, 'service', h.service, 'name', h.name, 'attempts', d.attempts, 'cycle', d.cycle,
    'rerun', d.rerun, 'version', d.version, 'error', d.error - 'stack', 'firstFailedAt', d.first_failed_at,
    'failureHistory', d.failure_history`;
  const envelope = `d.type, d.key, d.source, d.idempotency_key, d.correlation_id, d.causation_id, d.created_at`;
  // With "offset 0" this cannot be anything but a look for each id.
  const of = (
    table: string,
  ): string => `from unnest($1) as w (id) cross join lateral (select * from ${schema}.${table} d where d.id = w.id offset 0) d
      left join ${schema}.handler h on h.id = d.handler`;
  return `with d as materialized (
      select d.id, ${envelope}, json_build_object(${shared},
        'status', (array['ready', 'waiting', 'failed'])[d.state + 1], 'dueAt', d.due_at, 'failedAt', d.failed_at,
        'doneAt', null, 'durationMs', null, 'reason', null, 'actor', null,
        'running', (select json_build_object('worker', r.worker, 'attempt', r.attempt, 'startedAt', r.started_at)
          from ${schema}.live_run r where r.id = d.id and r.handler = d.handler)) as delivery
      ${of('delivery')}
      union all
      select d.id, ${envelope}, json_build_object(${shared},
        'status', (array['delivered', 'discarded', 'cancelled'])[d.outcome + 1], 'dueAt', null, 'failedAt', null,
        'doneAt', d.done_at, 'durationMs', d.duration_ms, 'reason', d.reason, 'actor', d.actor, 'running', null)
      ${of('delivered')}),
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
    from e`;
}
