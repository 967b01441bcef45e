import { DELIVERY_TYPE } from '../../delivery/delivery-request.ts';

/** Everything `explain` looks at, in one statement: one snapshot, so that no two facts are of different moments. */
export function whyStatement(schema: string): string {
  const handler = `case when h.id is not null then json_build_object('service', h.service, 'name', h.name,
    'isPinned', h.is_pinned, 'pausedAt', h.paused_at,
    'breaker', (select json_build_object('name', b.name, 'probeAt', b.probe_at) from ${schema}.breaker b
      where b.service = h.service and b.name = h.breaker and b.state > 0), 'workers', (select count(*) from live w
      where w.lanes && array(select l.id from ${schema}.lane l where l.handler = h.id))) end`;
  return `with live as materialized (select w.id, w.name, w.lanes from ${schema}.worker w where w.expires_at > clock_timestamp())
    select json_build_object('id', d.id || ':' || d.handler, 'type', d.type, 'key', d.key, 'generation', d.generation,
      'handler', ${handler}, 'state', (array['ready', 'waiting', 'failed'])[d.state + 1], 'attempts', d.attempts,
      'dueInMs', extract(epoch from d.due_at - clock_timestamp()) * 1000, 'dueAt', d.due_at, 'endedAt', d.failed_at,
      'error', d.error, 'reason', null, 'actor', null,
      'running', (select json_build_object('worker', r.worker, 'attempt', r.attempt, 'startedAt', r.started_at)
        from ${schema}.live_run r where r.id = d.id and r.handler = d.handler),
      'lane', case when d.unit >= m.units then json_build_object('workers', (select count(*) from live w
        where (d.unit / m.units)::smallint = any (w.lanes))) end,
      'owner', (select w.name from ${schema}.lease l join live w on w.id = l.owner where l.unit = d.unit),
      'ahead', (${aheadOf(schema)}),
      'heldLine', (${heldLineOf(schema)}),
      'isAllPaused', m.is_paused)::text as row, d.handler as place
    from ${schema}.meta m, ${schema}.delivery d left join ${schema}.handler h on h.id = d.handler
    where d.id = $1::text::uuid and ($2::text is null or d.handler = $2::text::smallint)
    union all
    select json_build_object('id', d.id || ':' || d.handler, 'type', d.type, 'key', d.key, 'generation', d.generation,
      'handler', ${handler}, 'state', (array['delivered', 'discarded', 'cancelled'])[d.outcome + 1], 'attempts', d.attempts,
      'dueInMs', null, 'dueAt', null, 'endedAt', d.done_at, 'error', d.error, 'reason', d.reason, 'actor', d.actor,
      'running', null, 'lane', null, 'owner', null, 'ahead', null, 'isAllPaused', false)::text, d.handler
    from ${schema}.delivered d left join ${schema}.handler h on h.id = d.handler
    where d.id = $1::text::uuid and ($2::text is null or d.handler = $2::text::smallint)
    order by place`;
}

/** Who of its key must go first: a holder before all that hold nothing, the earlier holder, else the earlier in line. */
function aheadOf(schema: string): string {
  const found = (from: string): string => `(select e.id, e.state from ${schema}.delivery e
    where e.unit = d.unit and e.key = d.key and ${from} order by e.seq limit 1)`;
  // Of a line of HTTP deliveries many run at once, unless it says otherwise.
  const isWide = `d.type = '${DELIVERY_TYPE}' and not case split_part(d.key, ':', 1)
    when 'queue' then exists (select from ${schema}.http_queue q where q.name = substr(d.key, 7) and q.parallelism = 1)
    else exists (select from ${schema}.http_flow f where f.key = substr(d.key, 6) and f.parallelism = 1) end`;
  return `select json_build_object('messageId', a.id, 'state', (array['ready', 'waiting', 'failed'])[a.state + 1]) from (
      ${found('e.holds and (e.seq < d.seq or not d.holds)')}
      union all ${found('e.state = 0 and e.seq < d.seq and not d.holds')}) a where not (${isWide}) limit 1`;
}

/** What the line of an HTTP delivery stands still for. */
function heldLineOf(schema: string): string {
  return `select json_build_object('line', d.key, 'because', l.because, 'probeAt', l.probe_at) from (
      select 'breaker' as because, case when b.state = 2 and not b.is_held then b.probe_at end as probe_at from ${schema}.http_destination b
        where d.key like 'to:%' and b.destination = substr(d.key, 4) and (b.state <> 0 or b.is_held)
      union all select 'paused', null from ${schema}.http_queue q where d.key like 'queue:%' and q.name = substr(d.key, 7) and q.is_paused
      union all select 'paused', null from ${schema}.http_flow f where d.key like 'flow:%' and f.key = substr(d.key, 6) and f.is_paused) l
    where d.type = '${DELIVERY_TYPE}'`;
}
