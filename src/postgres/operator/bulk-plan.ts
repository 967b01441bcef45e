import { checkBulk, checkChange } from '../../operator/check-request.ts';
import { BULK_OUTCOMES, type BulkForecast, type BulkOperations } from '../../operator/bulk.ts';
import type { SqlRunner } from '../sql-runner.ts';
import { START_AT_ONCE } from './bulk-functions.ts';
import { readBulk } from './bulk-reads.ts';
import { deadLetterCondition } from './dead-letter-filter.ts';
import { DEAD_LETTER_JSON, toDeadLetter } from './dead-letter-list.ts';
import { type Fields, readJson } from './read-record.ts';
import { deadLetterBranches } from './views.ts';

const DEFAULT_LIMIT = 100_000;
const SAMPLE = 10;
/** How many open messages are looked at to see who waits behind the selected ones. */
const MOST_BEHIND = 100_000;

/** By time: the items of an operation stand behind all others in their index, where writing them costs a third less. */
const RISING_ID = `(select (substr(t.hex, 1, 8) || '-' || substr(t.hex, 9, 4) || '-7' || substr(gen_random_uuid()::text, 16))::uuid
        from (select lpad(to_hex(floor(extract(epoch from clock_timestamp()) * 1000)::bigint), 12, '0') as hex) t)`;

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
  const isRepublish = verb === 'republish';
  const selection = isRepublish ? publishedMessages(schema) : pendingDeadLetters(schema);
  const params = [verb, JSON.stringify(filter), limit, canary, perSecond, generation, by.actor, by.reason ?? null];
  const [row] = await sql.query(planStatement(schema, condition.text, selection), [...params, ...condition.params]);
  const id = String(row?.['id']);
  const bulk = await readBulk(sql, schema, id);
  if (bulk === undefined) throw new Error(`the bulk operation ${id} is gone`);
  const sample = isRepublish ? [] : await sql.query(sampleStatement(schema), [id]);
  return {
    kind: 'planned',
    bulk,
    sample: sample.map((one) => toDeadLetter(readJson(one, 'row') as Fields)),
    forecast: readJson(row, 'forecast') as readonly BulkForecast[],
    ...(isRepublish && { completeSince: await completeSince(sql, schema) }),
  };
}

/** Rows `l` that can be selected, and their order. */
interface Selection {
  readonly rows: string;
  readonly order: string;
}

/** The oldest failure first. */
function pendingDeadLetters(schema: string): Selection {
  const rows = deadLetterBranches(schema, ', d.unit, d.handler as handler_id').pending;
  return { rows, order: 'l.updated_at, l.message_id, l.handler_id' };
}

/**
 * What handlers that publish have done, each message once, in the order of their places in line: it is published again in that order.
 * What is open again comes out by itself.
 */
function publishedMessages(schema: string): Selection {
  const newer = `(x.id, x.handler) = (d.id, d.handler)`;
  const rows = `select d.id as message_id, d.handler as handler_id, h.service, h.name as handler, d.type, d.key, d.payload, d.error,
      d.done_at as updated_at, d.cycle, d.rerun, d.seq, 0 as unit, false as holds
    from ${schema}.delivered d join ${schema}.handler h on h.id = d.handler
    where d.outcome = 0 and exists (select from ${schema}.subscription s where s.handler = h.id and starts_with(s.type, '>'))
      and not exists (select from ${schema}.delivered x where ${newer} and x.rerun > d.rerun)
      and not exists (select from ${schema}.delivery x where ${newer})`;
  return { rows, order: 'l.seq, l.message_id, l.handler_id' };
}

/** From when on the history is whole. */
async function completeSince(sql: SqlRunner, schema: string): Promise<Date | undefined> {
  const time = `to_char(m.forgotten_until at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
  const [row] = await sql.query(`select ${time} as since from ${schema}.meta m where m.one`);
  const since = row?.['since'];
  return typeof since === 'string' ? new Date(since) : undefined;
}

/**
 * One statement, so what is selected and what is foretold are of one moment, and of what is at hand: joined with the rows that were
 * just written, of which no statistics know, the forecast took minutes. One more than the limit is looked for, to tell that there are more.
 */
export function planStatement(
  schema: string,
  condition: string,
  { rows, order }: Selection = pendingDeadLetters(schema),
): string {
  const counts = BULK_OUTCOMES.map((outcome) => (outcome === 'selected' ? 'least(s.n, s.most)' : '0')).join(', ');
  return `with found as materialized (
      select row_number() over (order by ${order}) as place, l.message_id, l.handler_id, l.cycle, l.rerun, l.unit, l.key, l.holds
      from (${rows}) l where ${condition}
      order by ${order} limit $3::text::int + 1),
    size as (select count(*)::int as n, $3::text::int as most from found),
    planned as (
      insert into ${schema}.bulk (id, verb, filter, canary, per_second, generation, actor, reason, is_cut, total, counts, canary_to, unpacked)
      select ${RISING_ID}, $1::text, $2::text::jsonb, $4::text::int, $5::text::float8, $6::text::bigint, $7::text, $8::text,
        s.n > s.most, least(s.n, s.most), array[${counts}], least(s.n, s.most, $4::text::int),
        least(s.n, s.most, ${START_AT_ONCE})
      from size s returning id),
    picked as not materialized (select * from found where place <= $3::text::int),
    items as (
      insert into ${schema}.bulk_item (bulk, place, id, handler, cycle, rerun)
      select b.id, p.place, p.message_id, p.handler_id, p.cycle, p.rerun from planned b, picked p where p.place <= ${START_AT_ONCE}),
    parcels as (
      insert into ${schema}.bulk_parcel (bulk, first, ids, handlers, cycles, reruns)
      select b.id, min(p.place), array_agg(p.message_id), array_agg(p.handler_id), array_agg(p.cycle), array_agg(p.rerun)
      from planned b, picked p where p.place > ${START_AT_ONCE} group by b.id, (p.place - 1) / ${START_AT_ONCE}),
    ${forecast(schema)}
    select p.id::text, coalesce(f.rows, '[]')::text as forecast from planned p, forecast f`;
}

/** Those of `picked` by handler. Those that wait behind are looked up among their keys one by one, however many the planner expects. */
function forecast(schema: string): string {
  return `behind as (
      select o.handler, count(*) as n from (
        select d.handler, d.unit, d.key from ${schema}.delivery d
        where d.unit = any (array(select distinct unit from picked where holds)) and d.state = 0 limit ${MOST_BEHIND}) o
      where ((o.unit, o.key) in (select unit, key from picked where holds and key is not null)) is true group by 1),
    lines as (select handler_id, count(*) as n from picked group by handler_id, coalesce(key, message_id::text)),
    parts as (select handler_id, sum(n) as n, count(*) as keys from lines group by handler_id),
    forecast as (select json_agg(json_build_object('service', h.service, 'handler', h.name, 'count', p.n, 'keys', p.keys,
        'workers', (select count(*) from ${schema}.worker w where w.expires_at > clock_timestamp()
          and w.lanes && array(select l.id from ${schema}.lane l where l.handler = h.id)),
        'isPaused', h.paused_at is not null or (select m.is_paused from ${schema}.meta m where m.one), 'isBreakerOpen', ${isBreakerOpen(schema)},
        'behind', coalesce(b.n, 0)) order by p.n desc, h.service, h.name) as rows
      from parts p join ${schema}.handler h on h.id = p.handler_id left join behind b on b.handler = p.handler_id)`;
}

function sampleStatement(schema: string): string {
  return `select ${DEAD_LETTER_JSON} as row from ${schema}.bulk_item i join (${deadLetterBranches(schema).pending}) l
      on l.message_id = any (array[i.id]) and l.id = i.id || ':' || i.handler
    where i.bulk = $1::text::uuid and i.place <= ${SAMPLE} order by i.place`;
}

/** Whether the breaker of the handler `h` keeps its messages waiting. */
function isBreakerOpen(schema: string): string {
  return `exists (select from ${schema}.breaker k where k.service = h.service and k.name = h.breaker and k.state <> 0)`;
}
