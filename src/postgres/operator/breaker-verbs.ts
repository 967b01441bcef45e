import { OptionCheck } from '../../kernel/check-options.ts';
import type { BreakerChanged, BreakerRecord, Breakers } from '../../operator/breaker-record.ts';
import { checkChange, checkList } from '../../operator/check-request.ts';
import type { By, Page, Paging } from '../../operator/operator.ts';
import { isProberGone } from '../relay/breaker.ts';
import type { SqlRunner } from '../sql-runner.ts';
import { type Fields, readJson, readRecord } from './read-record.ts';

/** The verbs on breakers, each one statement. Workers see a change when they look round, within seconds. */
export function breakerVerbs(sql: SqlRunner, schema: string): Breakers {
  return {
    breakers: (filter = {}) => listBreakers(sql, schema, filter),
    openBreaker: (name, by) => change(sql, schema, name, by, OPEN),
    closeBreaker: (name, by) => change(sql, schema, name, by, CLOSE),
  };
}

const OPEN = {
  of: 'openBreaker',
  verb: 'open-breaker',
  set: 'state = 2, is_held = true, since = case b.state when 2 then b.since else clock_timestamp() end',
  where: 'not b.is_held',
} as const;
const CLOSE = {
  of: 'closeBreaker',
  verb: 'close-breaker',
  set: 'state = 0, is_held = false, since = clock_timestamp(), probes = 0, error = null',
  where: 'b.state > 0',
} as const;

async function change(
  sql: SqlRunner,
  schema: string,
  name: string,
  by: By,
  { of, verb, set, where }: typeof OPEN | typeof CLOSE,
): Promise<BreakerChanged> {
  checkChange(of, by);
  const place = await resolve(sql, schema, name);
  if ('kind' in place) return place;
  const changed = await sql.query(
    `with changed as (
      update ${schema}.breaker b set epoch = b.epoch + 1, probe_at = null, prober = null, changed_at = clock_timestamp(),
        actor = $3::text, reason = $4::text, ${set}
      where b.service = $1::text and b.name = $2::text and ${where} returning b.service, b.name),
    audited as (insert into ${schema}.audit (actor, verb, reason, details)
      select $3::text, '${verb}', $4::text, jsonb_build_object('service', service, 'breaker', name) from changed returning 1)
    select ${schema}.operator_poke('{}')::text from audited`,
    [place.service, place.name, by.actor, by.reason ?? null],
  );
  const [row] = await sql.query(
    `select ${recordOf(schema)} as row from ${schema}.breaker b where b.service = $1::text and b.name = $2::text`,
    [place.service, place.name],
  );
  return { kind: changed.length > 0 ? 'changed' : 'unchanged', breaker: toRecord(readJson(row, 'row') as Fields) };
}

type Place = { readonly service: string; readonly name: string };

async function resolve(
  sql: SqlRunner,
  schema: string,
  name: string,
): Promise<Place | Extract<BreakerChanged, { kind: 'unknown-breaker' | 'ambiguous-breaker' }>> {
  const rows = await sql.query(
    `select b.service, b.name from ${schema}.breaker b where ${isUsed(schema)} order by b.service, b.name`,
  );
  const known = rows.map((row) => ({ service: String(row['service']), name: String(row['name']) }));
  const full = (place: Place): string => `${place.service}/${place.name}`;
  const fits = known.filter((place) => full(place) === name || place.name === name);
  const [first] = fits;
  if (first === undefined) return { kind: 'unknown-breaker', name, known: known.map(full) };
  return fits.length > 1 ? { kind: 'ambiguous-breaker', name, write: fits.map(full) } : first;
}

const CURSOR = /^([01])~([^/]+)\/(.+)$/s;

async function listBreakers(sql: SqlRunner, schema: string, filter: Paging): Promise<Page<BreakerRecord>> {
  checkList('breakers', filter, {});
  const { limit = 100, cursor } = filter;
  const [, rank = null, service = null, name = null] = (cursor === undefined ? null : CURSOR.exec(cursor)) ?? [];
  if (cursor !== undefined && rank === null) {
    const check = new OptionCheck('breakers()');
    check.refuse('cursor', cursor, 'pass what the page before gave as next');
    check.done();
  }
  const place = `(b.state = 0)::int, b.service, b.name`;
  const rows = await sql.query(
    `select (b.state = 0)::int || '~' || b.service || '/' || b.name as place, ${recordOf(schema)} as row from ${schema}.breaker b
    where ${isUsed(schema)} and ($1::text is null or (${place}) > ($1::text::int, $2::text, $3::text))
    order by ${place} limit $4::text::int`,
    [rank, service, name, limit + 1],
  );
  const items = rows.slice(0, limit).map((row) => toRecord(readJson(row, 'row') as Fields));
  return { items, next: rows.length > limit ? String(rows[limit - 1]?.['place']) : undefined };
}

/** Some handler stands behind it: names that code has given up are not shown. */
function isUsed(schema: string): string {
  return `exists (select from ${schema}.handler h where h.service = b.service and h.breaker = b.name)`;
}

/** A row `b` as JSON. What waits is counted only where something does. */
function recordOf(schema: string): string {
  const isGone = `b.state = 1 and ${isProberGone(schema)}`;
  const ofIts = `${schema}.handler h where h.service = b.service and h.breaker = b.name`;
  return `json_build_object('service', b.service, 'name', b.name,
    'handlers', coalesce((select json_agg(h.name order by h.name) from ${ofIts}), '[]'),
    'state', case when ${isGone} then 'open' else (array['closed', 'probing', 'open'])[b.state + 1] end,
    'since', b.since, 'failures', b.failures, 'probeAt', b.probe_at,
    'error', case when b.error is not null then json_build_object('name', b.error ->> 'name', 'code', b.error ->> 'code',
      'message', b.error ->> 'message') end,
    'changed', case when b.changed_at is not null
      then json_build_object('at', b.changed_at, 'actor', b.actor, 'reason', b.reason) end,
    'waiting', case when b.state = 0 then 0 else ${schema}.breaker_waiting(b.service, b.name) end)::text`;
}

function toRecord(fields: Fields): BreakerRecord {
  const record = readRecord<BreakerRecord>(fields, ['since', 'probeAt']);
  const { error, changed } = record;
  return {
    ...record,
    error: error && readRecord<typeof error>({ ...error }, []),
    changed: changed && readRecord<typeof changed>({ ...changed }, ['at']),
  };
}
