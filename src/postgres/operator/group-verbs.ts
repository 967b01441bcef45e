import { OptionCheck } from '../../kernel/check-options.ts';
import { checkChange, checkList } from '../../operator/check-request.ts';
import {
  ERROR_GROUP_STATES,
  type ErrorGroup,
  type ErrorGroupChanged,
  type ErrorGroupFilter,
  type ErrorGroups,
  type ErrorGroupState,
  PENDING_CAP,
} from '../../operator/error-group.ts';
import type { By, Page, Paging } from '../../operator/operator.ts';
import { HOUR_NOW } from '../relay/bury.ts';
import type { SqlParam, SqlRunner } from '../sql-runner.ts';
import { listDeadLetters } from './dead-letter-list.ts';
import { type Fields, readJson, readRecord } from './read-record.ts';

const CURSOR = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z)~(\d{1,3}-[0-9a-f]{16})$/;
const TREND_HOURS = 24;

const VERBS: Readonly<Record<ErrorGroupState, string>> = {
  resolved: 'resolve-group',
  ignored: 'ignore-group',
  open: 'reopen-group',
};

/** Dead letters by cause. A change is one statement. */
export function groupVerbs(sql: SqlRunner, schema: string): ErrorGroups {
  const find = async (id: string): Promise<ErrorGroup | undefined> => {
    const rows = await sql.query(groupStatement(schema, 'g.id = $1::text', 'limit 1'), [id]);
    return rows[0] && toGroup(readJson(rows[0], 'row') as Fields);
  };
  const change = async (state: ErrorGroupState, verb: string, id: string, by: By): Promise<ErrorGroupChanged> => {
    checkChange(verb, by);
    const changed = await sql.query(changeStatement(schema, state), [id, by.actor, by.reason ?? null]);
    const group = await find(id);
    if (group === undefined) return { kind: 'not-found' };
    return { kind: changed.length > 0 ? 'changed' : 'unchanged', group };
  };
  return {
    groups: (filter = {}) => listGroups(sql, schema, filter),
    async group(id) {
      const group = await find(id);
      if (group === undefined) return { kind: 'not-found' };
      const { items } = await listDeadLetters(sql, schema, { group: id, limit: 1 });
      return { kind: 'found', group, sample: items[0] };
    },
    resolveGroup: (id, by) => change('resolved', 'resolveGroup', id, by),
    ignoreGroup: (id, by) => change('ignored', 'ignoreGroup', id, by),
    reopenGroup: (id, by) => change('open', 'reopenGroup', id, by),
  };
}

/** The state as people see it is compared: what was resolved and happened again is open, and can be resolved again. */
function changeStatement(schema: string, state: ErrorGroupState): string {
  return `with changed as (
      update ${schema}.error_group g set state = '${state}', changed_at = clock_timestamp(), actor = $2::text, reason = $3::text
      where g.id = $1::text and (select v.state from ${schema}.error_groups v where v.id = $1::text) <> '${state}'
      returning g.id, g.service, g.handler)
    insert into ${schema}.audit (actor, verb, reason, handler, details)
    select $2::text, '${VERBS[state]}', $3::text, h.id, jsonb_build_object('group', c.id)
    from changed c left join ${schema}.handler h on h.service = c.service and h.name = c.handler returning 1`;
}

/** Pending ones and the trend are counted for the groups of the page alone. */
function groupStatement(schema: string, condition: string, order: string): string {
  return `with page as materialized (select g.* from ${schema}.error_groups g where ${condition} ${order})
    select to_char(g.last_seen_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') || '~' || g.id as place,
      json_build_object('id', g.id, 'service', g.service, 'handler', g.handler, 'type', g.type, 'error', g.error, 'frames', g.frames,
        'state', g.state, 'changedAt', g.changed_at, 'actor', g.actor, 'reason', g.reason, 'pending', p.n, 'total', g.total,
        'firstSeenAt', g.first_seen_at, 'lastSeenAt', g.last_seen_at, 'trend', t.trend)::text as row
    from page g
    cross join lateral (select count(*) as n from (select from ${schema}.delivery d
      where d.state = 2 and d.error ->> 'group' = g.id limit ${PENDING_CAP}) d) p
    cross join lateral (select json_agg(coalesce(s.n, 0) order by o.hours desc) as trend from generate_series(0, ${TREND_HOURS - 1}) as o (hours)
      left join (select t.hour, sum(t.n) as n from ${schema}.error_tally t
        where t."group" = g.id and t.hour > ${HOUR_NOW} - ${TREND_HOURS} group by 1) s on s.hour = ${HOUR_NOW} - o.hours) t
    order by g.last_seen_at desc, g.id desc`;
}

async function listGroups(
  sql: SqlRunner,
  schema: string,
  filter: ErrorGroupFilter & Paging,
): Promise<Page<ErrorGroup>> {
  const { state, service, handler, type, search, isPending, limit = 100, cursor } = filter;
  const { isPending: _isPending, ...texts } = filter;
  checkList('groups', texts, { state, service, handler, type, search });
  const check = new OptionCheck('groups()');
  if (state !== undefined) check.word('state', state, ERROR_GROUP_STATES);
  if (isPending !== undefined && typeof isPending !== 'boolean')
    check.refuse('isPending', isPending, 'write true or false');
  const [, time = null, id = null] = (cursor === undefined ? null : CURSOR.exec(cursor)) ?? [];
  if (cursor !== undefined && id === null) check.refuse('cursor', cursor, 'pass what the page before gave as next');
  check.done();
  const params: readonly SqlParam[] = [state, service, handler, type, search].map((value) => value ?? null);
  const call = `${schema}.error_group_list($1::text, $2::text, $3::text, $4::text, $5::text, $6::text, $7::text, $8::text, $9::text)`;
  const pending = isPending === undefined ? null : String(isPending);
  const rows = await sql.query(`select l.place, l.row from ${call} l`, [...params, time, id, limit + 1, pending]);
  const items = rows.slice(0, limit).map((row) => toGroup(readJson(row, 'row') as Fields));
  return { items, next: rows.length > limit ? String(rows[limit - 1]?.['place']) : undefined };
}

/**
 * The list, as a function: dozens of looks into indexes are taken for dear enough to be compiled, which took seven times as long as
 * the rest. Planned for what is asked: for anything, one group of all is taken to fit. Takes state, service, handler, type, search, the time and the id where the page before ended, the limit, isPending.
 */
export function groupListFunction(schema: string): string {
  const words = `lower(concat_ws(' ', g.error ->> 'name', g.error ->> 'code', g.error ->> 'message'))`;
  const pending = `exists (select from ${schema}.delivery d where d.state = 2 and d.error ->> 'group' = g.id)`;
  const condition = `($1 is null or g.state = $1) and ($2 is null or g.service = $2)
    and ($3 is null or g.handler = $3 or g.service || '/' || g.handler = $3)
    and ($4 is null or g.type = $4) and ($5 is null or position(lower($5) in ${words}) > 0)
    and ($6 is null or (g.last_seen_at, g.id) < ($6::timestamptz, $7)) and ($9 is null or ${pending} = $9::boolean)`;
  const order = `order by g.last_seen_at desc, g.id desc limit $8::int`;
  return `create function ${schema}.error_group_list(text, text, text, text, text, text, text, text, text)
    returns table (place text, "row" text) language plpgsql stable set jit = off set plan_cache_mode = force_custom_plan as $body$
      #variable_conflict use_column
      begin
        return query ${groupStatement(schema, condition, order)};
      end $body$`;
}

function toGroup({ changedAt, actor, reason, error, ...fields }: Fields): ErrorGroup {
  const group = readRecord<ErrorGroup>(fields, ['firstSeenAt', 'lastSeenAt']);
  const { name, code, message } = error as ErrorGroup['error'];
  const changed =
    typeof changedAt === 'string'
      ? { at: new Date(changedAt), actor: String(actor), reason: (reason as string | null) ?? undefined }
      : undefined;
  return { ...group, error: { name, code, message }, changed };
}
