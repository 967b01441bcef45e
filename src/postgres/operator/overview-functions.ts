import { firstFree } from '../relay/first-free.ts';
import { sentSoFar } from '../relay/sample.ts';

/** Nothing is counted further than this; dead letters, which an index has side by side, ten times as far. */
const CAP = 10_000;
const DEAD_CAP = 100_000;
const HELD_CAP = 1_000;
const DESTINATION_CAP = 100;
/** Hundreds of looks into an index are taken for dear enough to be compiled, which takes longer than they do. */
const SETTINGS = 'set jit = off set enable_seqscan = off';

/** What the overview reads, as functions: so they can be planned as they should be. */
export function overviewFunctions(schema: string): readonly string[] {
  return [
    `create function ${schema}.handler_oldest_ms(p_handler smallint) returns float8 language sql stable ${SETTINGS} as $body$
      select floor(extract(epoch from clock_timestamp() - min(d.created_at)) * 1000) from ${unitsOf(schema, 'p_handler')}
        cross join lateral (${firstFree(schema, 'u.unit')}) d
    $body$`,
    `create function ${schema}.overview_present() returns text language sql stable ${SETTINGS} as $body$
      ${presentStatement(schema)}
    $body$`,
    `create function ${schema}.overview_points(start_ms float8, step_ms bigint) returns text language sql stable ${SETTINGS} as $body$
      ${pointsStatement(schema)}
    $body$`,
  ];
}

/** The units of all lanes of a handler, as `u`. */
function unitsOf(schema: string, handler: string): string {
  return `(select l.id * m.units + b as unit from ${schema}.lane l, ${schema}.meta m, generate_series(0, m.units - 1) b where l.handler = ${handler}) u`;
}

/** How late a handler is, for every surface that tells it: the age of its first in line, and null where nothing is in line. */
export function oldestMs(schema: string, handler: string): string {
  return `${schema}.handler_oldest_ms(${handler})`;
}

/**
 * What is open is counted unit by unit, by the index of the line, and no further than `CAP`; the oldest is at the head of one of the
 * units. Rates are of the minutes of the last five.
 */
function presentStatement(schema: string): string {
  const count = (state: number): string => `(select count(*) from (
      select from ${unitsOf(schema, 'h.id')} cross join lateral (select from ${schema}.delivery d where d.unit = u.unit and d.state = ${state} limit ${CAP}) d
      limit ${CAP}) c)`;
  return `with recent as materialized (
      select t.handler, sum(t.done) as done, sum(t.retried + t.dead) as failed from ${schema}.tally t
      where t.at > clock_timestamp() - interval '5 minutes' group by t.handler),
    dead as materialized (
      select d.handler, count(*) as n from (
        select d.handler from ${schema}.delivery d where d.state = 2 order by d.id limit ${DEAD_CAP}) d group by d.handler),
    live as materialized (select * from ${schema}.worker w where w.expires_at > clock_timestamp())
    select json_build_object('nowMs', floor(extract(epoch from clock_timestamp()) * 1000), 'sent', ${sentSoFar(schema)},
      'isPaused', m.is_paused, 'workers', (select count(*) from live),
      'aliveMs', (select floor(extract(epoch from clock_timestamp() - min(w.joined_at)) * 1000) from live w),
      'heldKeys', (select count(*) from (select distinct d.unit, d.key from ${schema}.delivery d
        where d.holds and d.key is not null and d.state = 2 limit ${HELD_CAP}) k),
      'destinations', coalesce((select json_agg(json_build_object('destination', d.destination, 'isHeld', d.is_held, 'error', d.error)
          order by d.destination) from (
        select * from ${schema}.http_destination d where d.state <> 0 or d.is_held order by d.destination limit ${DESTINATION_CAP}) d), '[]'),
      'withoutHandler', (select count(*) from (select from ${schema}.delivery d where d.handler = 0 and d.state < 2 limit ${CAP}) d),
      'last', (select json_build_object('ms', floor(extract(epoch from s.at) * 1000), 'isFull', s.is_full, 'unserved', s.unserved)
        from ${schema}.sample s order by s.minute desc limit 1),
      'handlers', coalesce((select json_agg(json_build_object('service', h.service, 'handler', h.name,
          'pending', ${count(0)}, 'waiting', ${count(1)}, 'failed', coalesce(x.n, 0),
          'oldestMs', ${oldestMs(schema, 'h.id')},
          'donePerSecond', coalesce(r.done, 0) / 300.0,
          'errorShare', r.failed::float8 / nullif(r.done + r.failed, 0)) order by h.service, h.name)
        from ${schema}.handler h left join recent r on r.handler = h.id left join dead x on x.handler = h.id), '[]'))::text
    from ${schema}.meta m`;
}

/** By step: what was done, and what was seen last; and what was seen last before the range. */
function pointsStatement(schema: string): string {
  const start = `to_timestamp(start_ms / 1000)`;
  const sample = `json_build_object('atMs', floor(extract(epoch from s.at) * 1000), 'sent', s.sent, 'pending', s.pending, 'oldestMs', s.oldest_ms)`;
  return `select json_build_object(
      'tallies', coalesce((select json_agg(json_build_object('atMs', t.ms, 'done', t.done, 'retried', t.retried, 'dead', t.dead,
          'suppressed', t.suppressed, 'refused', t.refused))
        from (select ${stepOf('at')} as ms, sum(done) as done, sum(retried) as retried, sum(dead) as dead,
            sum(suppressed) as suppressed, sum(refused) as refused
          from ${schema}.tally where at >= ${start} group by 1) t), '[]'),
      'samples', coalesce((select json_agg(s.row order by s.minute) from (
        (select s.minute, ${sample} as row from ${schema}.sample s where s.minute < ${start} order by s.minute desc limit 1)
        union all
        (select s.minute, ${sample} from (
            select max(g.minute) as minute from ${schema}.sample g where g.minute >= ${start} group by ${stepOf('g.minute')}) g
          join ${schema}.sample s on s.minute = g.minute)) s), '[]'))::text`;
}

/** When the step of a time began, in milliseconds. */
function stepOf(time: string): string {
  return `floor(date_part('epoch', ${time}) * 1000 / step_ms)::bigint * step_ms`;
}
