import type { HandlerStats, OperatorStats } from '../../operator/operator-records.ts';
import { deliveredCounts } from '../relay/count-history.ts';
import type { SqlRunner } from '../sql-runner.ts';
import { oldestMs } from './overview-functions.ts';
import { type Fields, readJson, readRecord } from './read-record.ts';

/** How much there is to do, by handler. */
export async function readStats(sql: SqlRunner, schema: string, countDelivered: boolean): Promise<OperatorStats> {
  const [row] = await sql.query(statsStatement(schema, countDelivered));
  const fields = readJson(row, 'row') as Fields & { readonly handlers: readonly Fields[] };
  const stats = readRecord<OperatorStats>(fields, ['at']);
  return { ...stats, handlers: fields.handlers.map((one) => readRecord<HandlerStats>(one, ['pausedAt'])) };
}

function statsStatement(schema: string, countDelivered: boolean): string {
  const delivered = countDelivered
    ? deliveredCounts(schema)
    : `select null::smallint as handler, null::bigint as delivered where false`;
  return `with live as materialized (select id, lanes from ${schema}.worker where expires_at > clock_timestamp()),
    open as materialized (
      select handler, count(*) filter (where state = 0) as pending, count(*) filter (where state = 1) as waiting,
        count(*) filter (where state = 2) as failed
      from ${schema}.delivery group by handler),
    -- Apart: counted beside the others, different keys make all that is open be sorted.
    held as materialized (
      select handler, count(*) as n from (
        select distinct handler, unit, key from ${schema}.delivery where holds and key is not null) k group by handler)
    select json_build_object('at', clock_timestamp(), 'isPaused', m.is_paused, 'workers', (select count(*) from live),
      'withoutHandler', coalesce((select pending + waiting from open where handler = 0), 0),
      'handlers', coalesce((select json_agg(json_build_object('service', h.service, 'handler', h.name,
          'pausedAt', h.paused_at, 'pending', coalesce(o.pending, 0), 'waiting', coalesce(o.waiting, 0),
          'failed', coalesce(o.failed, 0), 'delivered', ${countDelivered ? 'coalesce(d.delivered, 0)' : 'null'},
          'oldestMs', case when o.pending > 0 then ${oldestMs(schema, 'h.id')} end, 'heldKeys', coalesce(k.n, 0),
          'workers', (select count(*) from live w where w.lanes && array(select l.id from ${schema}.lane l where l.handler = h.id))
        ) order by h.service, h.name)
        from ${schema}.handler h left join open o on o.handler = h.id left join held k on k.handler = h.id
          left join (${delivered}) d on d.handler = h.id), '[]')
      )::text as row
    from ${schema}.meta m`;
}
