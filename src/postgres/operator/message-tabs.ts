import { MESSAGE_TABS, type TabCount } from '../../operator/message-list.ts';
import type { SqlRunner } from '../sql-runner.ts';
import { PAGE_SETTINGS } from './message-list-function.ts';
import { readJson } from './read-record.ts';

/** Nothing is counted further than this, in deliveries. */
const CAP = 10_000;

interface Counted {
  readonly tabs: Readonly<Record<string, number>>;
  /** Where the count stopped. */
  readonly isCut: Readonly<Record<'ready' | 'waiting' | 'failed' | 'done' | 'givenUp', boolean>>;
  /** Finished deliveries by the statistics, and messages for each of the newest ones. */
  readonly estimate: number;
  readonly share: number;
}

/** How many messages each tab has: counted by index up to `CAP`, beyond that a lower bound, and of the history an estimate. */
export async function countTabs(sql: SqlRunner, schema: string): Promise<readonly TabCount[]> {
  const [row] = await sql.query(`select ${schema}.message_tabs() as row`);
  const { tabs, isCut, estimate, share } = readJson(row, 'row') as Counted;
  const cutOf: Readonly<Record<TabCount['tab'], boolean>> = {
    pending: isCut.ready,
    in_flight: false,
    scheduled: isCut.waiting,
    retrying: isCut.waiting,
    failed: isCut.failed,
    delivered: isCut.done,
    discarded: isCut.givenUp,
    cancelled: isCut.givenUp,
  };
  return MESSAGE_TABS.map((tab): TabCount => {
    const count = tabs[tab] ?? 0;
    if (!cutOf[tab]) return { tab, count, precision: 'exact' };
    if (tab !== 'delivered') return { tab, count, precision: 'at-least' };
    return { tab, count: Math.max(count, Math.round(estimate * share)), precision: 'estimate' };
  });
}

/**
 * Each message is counted in one tab alone, by all its deliveries: those of the first `CAP` rows of each state. Of the history the
 * newest are read.
 */
export function messageTabsFunction(schema: string): string {
  const some = (condition: string): string =>
    `select d.id from ${schema}.delivery d where ${condition} limit ${CAP + 1}`;
  return `create function ${schema}.message_tabs() returns text language plpgsql stable
    ${PAGE_SETTINGS} as $body$
    declare
      ready uuid[] := array(${some('d.state = 0')});
      waiting uuid[] := array(${some('d.state = 1')});
      failed uuid[] := array(${some('d.state = 2')});
      done uuid[] := array(select d.id from ${schema}.delivered d order by d.id desc limit ${CAP + 1});
      given_up uuid[] := array(select d.id from ${schema}.delivered d where d.outcome > 0 limit ${CAP + 1});
      is_cut constant boolean := cardinality(done) > ${CAP};
      tabs jsonb;
    begin
      with running as materialized (select distinct r.id from ${schema}.live_run r),
      open as materialized (
        select d.id, bool_or(d.state = 2) as failed, bool_or(d.state = 0) as ready,
          bool_or(d.state = 1 and (d.attempts > 0 or d.cycle > 0 or d.error is not null)) as retries
        from ${schema}.delivery d where d.id = any (ready) or d.id = any (waiting) group by d.id),
      ended as materialized (
        select d.id, max(d.outcome) filter (where d.outcome = 1) as discarded, max(d.outcome) as outcome
        from ${schema}.delivered d where d.id = any (case when is_cut then given_up else done || given_up end) group by d.id)
      select jsonb_object_agg(t.tab, t.n) into tabs from (
        select case when r.id is not null then 'in_flight' when o.retries then 'retrying' when o.ready then 'pending'
          else 'scheduled' end as tab, count(*) as n
        from open o left join running r on r.id = o.id where not o.failed group by 1
        union all select 'failed', count(distinct f.id) from unnest(failed) f (id)
        union all
        select case when e.discarded is not null then 'discarded' when e.outcome = 2 then 'cancelled' else 'delivered' end, count(*)
        from ended e where not exists (select from ${schema}.delivery d where d.id = e.id offset 0) group by 1) t;
      return json_build_object('tabs', tabs,
        'isCut', json_build_object('ready', cardinality(ready) > ${CAP}, 'waiting', cardinality(waiting) > ${CAP},
          'failed', cardinality(failed) > ${CAP}, 'done', is_cut, 'givenUp', cardinality(given_up) > ${CAP}),
        'estimate', (select coalesce(sum(greatest(pg_stat_get_live_tuples(c.oid),
            c.reltuples / greatest(c.relpages, 1) * pg_relation_size(c.oid) / current_setting('block_size')::int)), 0)
          from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = '${schema}.delivered'::regclass),
        'share', (select count(distinct n.id)::float8 / greatest(count(*), 1) from unnest(done) n (id)))::text;
    end $body$`;
}
