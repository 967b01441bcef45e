import { checkBulk, checkChange } from '../../operator/check-request.ts';
import { BULK_OUTCOMES, type BulkForecast, type BulkOperations } from '../../operator/bulk.ts';
import type { SqlRunner } from '../sql-runner.ts';
import { readBulk } from './bulk-reads.ts';
import { deadLetterCondition } from './dead-letter-filter.ts';
import { DEAD_LETTER_JSON, toDeadLetter } from './dead-letter-list.ts';
import { type Fields, readJson } from './read-record.ts';
import { deadLetterBranches } from './views.ts';

const DEFAULT_LIMIT = 100_000;
const SAMPLE = 10;
/** How many open messages are looked at to see who waits behind the selected ones. */
const MOST_BEHIND = 100_000;

/** Freezes a selection and looks what would happen to it. */
export async function planBulk(
  sql: SqlRunner,
  schema: string,
  ...[request, by]: Parameters<BulkOperations['planBulk']>
): ReturnType<BulkOperations['planBulk']> {
  checkBulk(request);
  checkChange('planBulk', by, { generation: request.generation });
  const { verb, filter, limit = DEFAULT_LIMIT, canary = 0, perSecond = null, generation = null } = request;
  const condition = deadLetterCondition(filter, 9);
  const params = [verb, JSON.stringify(filter), limit, canary, perSecond, generation, by.actor, by.reason ?? null];
  const [row] = await sql.query(planStatement(schema, condition.text), [...params, ...condition.params]);
  const id = String(row?.['id']);
  const bulk = await readBulk(sql, schema, id);
  if (bulk === undefined) throw new Error(`the bulk operation ${id} is gone`);
  const sample = await sql.query(sampleStatement(schema), [id]);
  const forecast = await sql.query(forecastStatement(schema), [id]);
  return {
    kind: 'planned',
    bulk,
    sample: sample.map((one) => toDeadLetter(readJson(one, 'row') as Fields)),
    forecast: forecast.map((one) => readJson(one, 'row') as BulkForecast),
  };
}

/** One statement, so what is selected is of one moment. One more than the limit is looked for, to tell that there are more. */
function planStatement(schema: string, condition: string): string {
  const counts = BULK_OUTCOMES.map((outcome) => (outcome === 'selected' ? 'least(s.n, s.most)' : '0')).join(', ');
  return `with picked as materialized (
      select row_number() over (order by l.updated_at, l.id) as place, l.message_id, split_part(l.id, ':', 2)::smallint as handler, l.cycle, l.rerun
      from (${deadLetterBranches(schema).pending}) l where ${condition}
      order by l.updated_at, l.id limit $3::text::int + 1),
    size as (select count(*)::int as n, $3::text::int as most from picked),
    planned as (
      insert into ${schema}.bulk (id, verb, filter, canary, per_second, generation, actor, reason, is_cut, total, counts, canary_to)
      select gen_random_uuid(), $1::text, $2::text::jsonb, $4::text::int, $5::text::float8, $6::text::bigint, $7::text, $8::text,
        s.n > s.most, least(s.n, s.most), array[${counts}], least(s.n, s.most, $4::text::int)
      from size s returning id),
    items as (
      insert into ${schema}.bulk_item (bulk, place, id, handler, cycle, rerun)
      select b.id, p.place, p.message_id, p.handler, p.cycle, p.rerun from planned b, size s, picked p
      where p.place <= s.most)
    select id::text from planned`;
}

function sampleStatement(schema: string): string {
  return `select ${DEAD_LETTER_JSON} as row from ${schema}.bulk_item i join (${deadLetterBranches(schema).pending}) l
      on l.message_id = any (array[i.id]) and l.id = i.id || ':' || i.handler
    where i.bulk = $1::text::uuid and i.place <= ${SAMPLE} order by i.place`;
}

function forecastStatement(schema: string): string {
  return `with chosen as materialized (
      select d.handler, d.unit, d.key, d.id, d.holds from ${schema}.bulk_item i
      join ${schema}.delivery d on d.id = i.id and d.handler = i.handler where i.bulk = $1::text::uuid),
    held as materialized (select distinct unit, key from chosen where holds and key is not null),
    behind as (
      select o.handler, count(*) as n from (
        select d.handler, d.unit, d.key from ${schema}.delivery d
        where d.unit = any (array(select distinct unit from held)) and d.state = 0 limit ${MOST_BEHIND}) o
      join held h on h.unit = o.unit and h.key = o.key group by 1),
    parts as (select c.handler, count(*) as n, count(distinct coalesce(c.key, c.id::text)) as keys from chosen c group by 1)
    select json_build_object('service', h.service, 'handler', h.name, 'count', p.n, 'keys', p.keys,
      'workers', (select count(*) from ${schema}.worker w where w.expires_at > clock_timestamp()
        and w.lanes && array(select l.id from ${schema}.lane l where l.handler = h.id)),
      'isPaused', h.paused_at is not null or (select m.is_paused from ${schema}.meta m where m.one), 'isBreakerOpen', ${isBreakerOpen()},
      'behind', coalesce(b.n, 0))::text as row
    from parts p join ${schema}.handler h on h.id = p.handler left join behind b on b.handler = p.handler
    order by p.n desc, h.service, h.name`;
}

/** Whether the breaker of the handler `h` is open. */
function isBreakerOpen(): string {
  return 'false';
}
