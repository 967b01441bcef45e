import { DELIVERY_HANDLER, DELIVERY_SERVICE, DELIVERY_TYPE } from '../../delivery/delivery-request.ts';

/** Who delivers. Nothing before a sender has run for the first time: then messages wait for any handler, in lane 0. */
export function handlerOf(schema: string): string {
  return `(select h.id from ${schema}.handler h where h.service = '${DELIVERY_SERVICE}' and h.name = '${DELIVERY_HANDLER}')`;
}

/** How many messages of a line (an expression) are not done. They are in one unit, which is read, and no other. */
export function lineWaiting(schema: string, line: string): string {
  return `${schema}.http_line_waiting(${line})`;
}

/** How many are not done in each line of a kind (`queue:`), as rows of `line` and `n`; lines without any are left out. */
export function linesWaiting(schema: string, kind: string): string {
  return `select w.line, w.n from ${schema}.http_lines_waiting('${kind}') w`;
}

/** How many of each line of a kind run now, as rows of `line` and `n`. */
export function linesRunning(schema: string, kind: string): string {
  return `select r.line, r.n from ${schema}.http_lines_running('${kind}') r`;
}

/** Nothing is counted further than this. */
const MOST_COUNTED = 1_000_000;

/**
 * Functions of their own: what they read is planned for a table that is full, on the day it is empty too, and is not taken for dear enough
 * to be compiled.
 */
export function lineFunctions(schema: string): readonly string[] {
  const settings = 'set jit = off set enable_seqscan = off set max_parallel_workers_per_gather = 0';
  const lanes = `select 0 as id union all select l.id from ${schema}.lane l where l.handler = ${handlerOf(schema)}`;
  return [
    `create function ${schema}.http_line_waiting(p_line text) returns bigint language sql stable ${settings} as $body$
      select coalesce(sum(c.n), 0)::bigint from ${schema}.meta m, (${lanes}) l, generate_series(0, 1) s (state), lateral (
        select count(*) as n from ${schema}.delivery d
        where d.unit = l.id * m.units + ('x' || encode(substring(sha256(convert_to(p_line, 'UTF8')) from 1 for 2), 'hex'))::bit(16)::int % m.units
          and d.state = s.state and d.key = p_line and d.type = '${DELIVERY_TYPE}') c
    $body$`,
    `create function ${schema}.http_lines_waiting(p_kind text) returns table (line text, n bigint) language sql stable ${settings} as $body$
      select d.key, count(*) from ${schema}.meta m, (${lanes}) l, generate_series(0, m.units - 1) bucket, generate_series(0, 1) s (state),
        lateral (select d.key from ${schema}.delivery d where d.unit = l.id * m.units + bucket and d.state = s.state
          and d.type = '${DELIVERY_TYPE}' limit ${MOST_COUNTED}) d
      where starts_with(d.key, p_kind) group by d.key
    $body$`,
    // Few run, and each is looked up: "offset 0" keeps it so.
    `create function ${schema}.http_lines_running(p_kind text) returns table (line text, n bigint) language sql stable ${settings} as $body$
      select d.key, count(*) from ${schema}.running r join ${schema}.worker w on w.id = r.worker and w.expires_at > clock_timestamp(),
        lateral (select d.key from ${schema}.delivery d where d.id = r.id and d.unit = r.unit and d.state < 2
          and d.type = '${DELIVERY_TYPE}' offset 0) d
      where starts_with(d.key, p_kind) group by d.key
    $body$`,
  ];
}
