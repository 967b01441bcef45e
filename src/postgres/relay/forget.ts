import type { Link } from '../driver/driver.ts';
import { HOUR_NOW } from './bury.ts';

const BATCH = 10_000;
/** How many groups are folded or forgotten in one round. */
const GROUPS = 1_000;
/** A cause that has not been seen for so long, and of which nothing is left, is forgotten; ignored ones are kept. */
const GROUP_DAYS = 30;

/** What operators worked with and need no more: plans nobody started, ended operations, counts by the hour, causes of long ago. */
export async function forgetOperations(link: Link, schema: string, historyMs: number): Promise<void> {
  // Items first: an operation without its items would count what is not there.
  const old = `select b.id from ${schema}.bulk b where b.state = 'planned' and b.created_at < clock_timestamp() - interval '1 hour'
    or b.ended_at < clock_timestamp() - $1::text::float8 * interval '1 millisecond' order by b.created_at limit 20 for update skip locked`;
  await link.query(
    `with old as materialized (${old}),
      items as (select i.ctid as at from ${schema}.bulk_item i where i.bulk in (select id from old) limit ${BATCH}),
      gone as (delete from ${schema}.bulk_item where ctid in (select at from items) returning 1),
      parcels as (delete from ${schema}.bulk_parcel where bulk in (select id from old))
    delete from ${schema}.bulk where id in (select id from old) and (select count(*) from gone) < ${BATCH}`,
    [historyMs],
  );
  await link.query(
    `with old as (
      delete from ${schema}.error_tally t where (t."group", t.hour, t.shard) in (
        select o."group", o.hour, o.shard from ${schema}.error_tally o where o.hour < ${HOUR_NOW} - 24 order by o.hour limit ${GROUPS})
      returning t."group", t.n, t.last_at)
    update ${schema}.error_group g set total = g.total + o.n, last_seen_at = greatest(g.last_seen_at, o.last_at)
    from (select "group", sum(n) as n, max(last_at) as last_at from old group by 1) o where g.id = o."group"`,
    [],
  );
  await link.query(
    `delete from ${schema}.error_group g where g.id in (
      select o.id from ${schema}.error_group o where o.state <> 'ignored'
        and o.last_seen_at < clock_timestamp() - interval '${GROUP_DAYS} days' order by o.last_seen_at limit ${GROUPS})
      and not exists (select from ${schema}.error_tally t where t."group" = g.id)
      and not exists (select from ${schema}.delivery d where d.state = 2 and d.error ->> 'group' = g.id)`,
    [],
  );
}
