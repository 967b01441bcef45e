import { OptionCheck } from '../../kernel/check-options.ts';
import { checkList } from '../../operator/check-request.ts';
import type { HeldKey } from '../../operator/operator-records.ts';
import type { Page, Paging } from '../../operator/operator.ts';
import type { SqlRunner } from '../sql-runner.ts';
import { type Fields, readJson, readRecord } from './read-record.ts';

/** Keys whose later messages wait, by unit and key. */
export async function listHeldKeys(
  sql: SqlRunner,
  schema: string,
  filter: Paging & { readonly service?: string | undefined; readonly handler?: string | undefined },
): Promise<Page<HeldKey>> {
  const { service, handler, limit = 100, cursor } = filter;
  checkList('heldKeys', filter, { service, handler });
  const [, unit = null, key = null] = (cursor === undefined ? null : /^(\d{1,9})~(.+)$/s.exec(cursor)) ?? [];
  if (cursor !== undefined && unit === null) {
    const check = new OptionCheck('heldKeys()');
    check.refuse('cursor', cursor, 'pass what the page before gave as next');
    check.done();
  }
  const rows = await sql.query(heldStatement(schema), [service ?? null, handler ?? null, unit, key, limit + 1]);
  const items = rows.slice(0, limit).map((row) => toHeldKey(readJson(row, 'row') as Fields));
  return { items, next: rows.length > limit ? String(rows[limit - 1]?.['place']) : undefined };
}

function toHeldKey(fields: Fields): HeldKey {
  const held = readRecord<HeldKey>(fields, []);
  const holder = readRecord<HeldKey['holder']>({ ...held.holder }, ['dueAt', 'since', 'createdAt']);
  const breaker = holder.breaker && readRecord<typeof holder.breaker>({ ...holder.breaker }, ['probeAt']);
  return { ...held, holder: { ...holder, breaker } };
}

/**
 * The counts are made for the page's keys alone, in one pass over their units: "is true" keeps the list of keys a table that is
 * looked into for each row, where a join would read a whole unit for each key.
 */
function heldStatement(schema: string): string {
  return `with heads as materialized (
      select distinct on (d.unit, d.key) d.unit, d.key, d.id, d.state, d.attempts, d.due_at, d.error,
        coalesce(d.failed_at, d.first_failed_at) as since, d.created_at, h.service, h.name, h.breaker
      from ${schema}.delivery d join ${schema}.handler h on h.id = d.handler
      where d.holds and d.key is not null and ($1::text is null or h.service = $1::text)
        and ($2::text is null or h.name = $2::text or h.service || '/' || h.name = $2::text)
        and ($3::text is null or (d.unit, d.key) > ($3::text::int, $4::text))
      order by d.unit, d.key, d.seq limit $5::text::int)
    select h.unit || '~' || h.key as place, json_build_object('key', h.key, 'service', h.service, 'handler', h.name,
      'holder', json_build_object('messageId', h.id, 'status', case h.state when 2 then 'failed' else 'waiting' end,
        'attempts', h.attempts, 'dueAt', h.due_at, 'error', h.error, 'since', h.since, 'createdAt', h.created_at,
        'breaker', (select json_build_object('name', b.service || '/' || b.name, 'probeAt', b.probe_at) from ${schema}.breaker b
          where h.state = 1 and b.service = h.service and b.name = h.breaker and b.state > 0)),
      'behind', c.open - 1, 'failed', c.failed)::text as row
    from heads h join (
      select d.unit, d.key, count(*) as open, count(*) filter (where d.state = 2) as failed from ${schema}.delivery d
      where d.unit = any (array(select unit from heads)) and ((d.unit, d.key) in (select unit, key from heads)) is true
      group by d.unit, d.key
    ) c on c.unit = h.unit and c.key = h.key
    order by h.unit, h.key`;
}
