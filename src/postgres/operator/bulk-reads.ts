import { OptionCheck } from '../../kernel/check-options.ts';
import {
  type Bulk,
  BULK_OUTCOMES,
  BULK_STATES,
  type BulkItem,
  type BulkOperations,
  type BulkOutcome,
} from '../../operator/bulk.ts';
import { checkList } from '../../operator/check-request.ts';
import type { SqlRunner } from '../sql-runner.ts';
import { outcomeNumber, START_AT_ONCE } from './bulk-functions.ts';
import { type Fields, readJson, readRecord } from './read-record.ts';

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const LIST_CURSOR = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z)~([0-9a-f-]{36})$/;

/** Whether a text can be the id of a bulk operation. */
export function isBulkId(id: unknown): id is string {
  return typeof id === 'string' && UUID.test(id);
}

const BULK_JSON = `json_build_object('id', b.id, 'verb', b.verb, 'state', b.state, 'filter', b.filter, 'canary', b.canary,
  'perSecond', b.per_second, 'generation', b.generation, 'actor', b.actor, 'reason', b.reason, 'createdAt', b.created_at,
  'startedAt', b.started_at, 'endedAt', b.ended_at, 'pausedFor', b.paused_for, 'isCut', b.is_cut, 'total', b.total,
  'counts', b.counts)::text`;

function toBulk(fields: Fields): Bulk {
  const bulk = readRecord<Bulk>(fields, ['createdAt', 'startedAt', 'endedAt']);
  const numbers = fields['counts'] as readonly number[];
  const filter = readRecord<Bulk['filter']>(fields['filter'] as Fields, ['since', 'until']);
  const counts = Object.fromEntries(BULK_OUTCOMES.map((outcome, place) => [outcome, numbers[place] ?? 0]));
  return { ...bulk, filter, counts: counts as Record<BulkOutcome, number> };
}

/** One bulk operation. */
export async function readBulk(sql: SqlRunner, schema: string, id: string): Promise<Bulk | undefined> {
  if (!isBulkId(id)) return undefined;
  const [row] = await sql.query(`select ${BULK_JSON} as row from ${schema}.bulk b where b.id = $1::text::uuid`, [id]);
  return row && toBulk(readJson(row, 'row') as Fields);
}

/** Bulk operations, the newest first. */
export async function listBulks(
  sql: SqlRunner,
  schema: string,
  filter: NonNullable<Parameters<BulkOperations['bulks']>[0]>,
): ReturnType<BulkOperations['bulks']> {
  const { state, limit = 100, cursor } = filter;
  checkWord('bulks', filter, 'state', state, BULK_STATES);
  const [, time = null, id = null] = (cursor === undefined ? null : LIST_CURSOR.exec(cursor)) ?? [];
  if (cursor !== undefined && id === null) refuseCursor('bulks', cursor);
  const text = `select to_char(b.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') || '~' || b.id as place, ${BULK_JSON} as row
    from ${schema}.bulk b where b.state = coalesce($1::text, b.state) and ($1::text is not null or b.state <> 'planned')
      and ($2::text is null or (b.created_at, b.id) < ($2::text::timestamptz, $3::text::uuid))
    order by b.created_at desc, b.id desc limit $4::text::int`;
  const rows = await sql.query(text, [state ?? null, time, id, limit + 1]);
  const items = rows.slice(0, limit).map((row) => toBulk(readJson(row, 'row') as Fields));
  return { items, next: rows.length > limit ? String(rows[limit - 1]?.['place']) : undefined };
}

/** The items of one, in the order they begin. */
export async function listBulkItems(
  sql: SqlRunner,
  schema: string,
  id: string,
  filter: NonNullable<Parameters<BulkOperations['bulkItems']>[1]>,
): ReturnType<BulkOperations['bulkItems']> {
  const { outcome, limit = 100, cursor } = filter;
  checkWord('bulkItems', filter, 'outcome', outcome, BULK_OUTCOMES);
  if (cursor !== undefined && !/^\d{1,9}$/.test(cursor)) refuseCursor('bulkItems', cursor);
  if (!isBulkId(id)) return { items: [], next: undefined };
  const number = outcome === undefined ? null : outcomeNumber(outcome);
  const rows = await sql.query(itemStatement(schema), [id, number, cursor ?? 0, limit + 1]);
  const items = rows.slice(0, limit).map((row) => toItem(readJson(row, 'row') as Fields));
  return { items, next: rows.length > limit ? String(rows[limit - 1]?.['place']) : undefined };
}

/** What had not begun of a cancelled operation is dropped, though its row says that it is selected. Of the parcels only those of the page are opened. */
function itemStatement(schema: string): string {
  const isDropped = `b.cancelled_at is not null and i.outcome = ${outcomeNumber('selected')}`;
  const shown = `case when ${isDropped} then ${outcomeNumber('dropped')} else i.outcome end`;
  const fits = `i.place > $3::text::int and ($2::text is null or ${shown} = $2::text::smallint) order by i.place limit $4::text::int`;
  return `with b as (select * from ${schema}.bulk b where b.id = $1::text::uuid),
    parcels as (
      select * from ${schema}.bulk_parcel p where p.bulk = $1::text::uuid and p.first > $3::text::int - ${START_AT_ONCE}
      order by p.first limit $4::text::int / ${START_AT_ONCE} + 2)
    select i.place::text, json_build_object('id', i.id || ':' || i.handler, 'messageId', i.id, 'service', h.service, 'handler', h.name,
      'type', m.type, 'key', m.key, 'outcome', ${shown}, 'isCanary', b.canary > 0 and i.place <= b.canary_to,
      'startedAt', i.started_at, 'endedAt', case when ${isDropped} then b.cancelled_at else i.ended_at end, 'error', i.error)::text as row
    from b cross join lateral (
      (select i.place, i.id, i.handler, i.outcome, i.started_at, i.ended_at, i.error
        from ${schema}.bulk_item i where i.bulk = b.id and ${fits})
      union all
      select p.first + u.n::int - 1, u.id, u.handler, ${outcomeNumber('selected')}, null, null, null
      from parcels p, unnest(p.ids, p.handlers) with ordinality u(id, handler, n)) i
    left join ${schema}.handler h on h.id = i.handler
    left join lateral (
      select d.type, d.key from ${schema}.delivery d where d.id = i.id and d.handler = i.handler
      union all select d.type, d.key from ${schema}.delivered d where d.id = i.id and d.handler = i.handler limit 1) m on true
    where ${fits}`;
}

function toItem(fields: Fields): BulkItem {
  const item = readRecord<BulkItem>(fields, ['startedAt', 'endedAt']);
  const error = fields['error'] as { name: string; code?: string; message: string; group?: string } | null;
  const outcome = BULK_OUTCOMES[Number(fields['outcome'])] ?? 'selected';
  if (error === null) return { ...item, outcome, group: undefined };
  const { name, code, message, group } = error;
  return { ...item, outcome, error: { name, code, message }, group };
}

function checkWord(
  verb: string,
  filter: object,
  name: string,
  value: string | undefined,
  words: readonly string[],
): void {
  checkList(verb, filter, { [name]: value });
  const check = new OptionCheck(`${verb}()`);
  if (value !== undefined) check.word(name, value, words);
  check.done();
}

function refuseCursor(verb: string, cursor: string): void {
  const check = new OptionCheck(`${verb}()`);
  check.refuse('cursor', cursor, 'pass what the page before gave as next');
  check.done();
}
