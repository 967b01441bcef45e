import type { HouseReport } from '../../relay/house-report.ts';
import type { Link } from '../driver/driver.ts';
import { firstFree } from './first-free.ts';

/** Beyond this many, rows are estimated and not counted, unless the outbox has a limit that is higher. */
const COUNT_LIMIT = 100_000;
/** Beyond this many, unserved rows are not counted on. */
const UNSERVED_LIMIT = 10_000;

type Unserved = HouseReport['unserved'];

/**
 * Counts what is open, finds what nobody serves, and tells the senders whether there is room. Bounded: a large backlog is
 * estimated.
 */
export async function houseReport(link: Link, schema: string, maxPending: number | undefined): Promise<HouseReport> {
  const limit = Math.max(COUNT_LIMIT, maxPending ?? 0);
  const [counts] = await link.query(countStatement(schema), [limit]);
  const [counted, failed, estimate, oldest] = counts ?? [];
  const pending = Number(counted) < limit ? Number(counted) : Math.max(limit, Number(estimate) - Number(failed));
  const isFull = maxPending !== undefined && pending >= maxPending;
  await link.query(`update ${schema}.meta set is_full = $1::text::boolean where is_full <> $1::text::boolean`, [
    isFull,
  ]);
  const unserved = [...(await unknownTypes(link, schema)), ...(await lanesWithoutWorker(link, schema))];
  return { pending, failed: Number(failed), oldestMs: oldest === null ? undefined : Number(oldest), isFull, unserved };
}

/** The oldest is looked for at the head of each unit; nobody's lane has its units too. */
function countStatement(schema: string): string {
  return `select
      (select count(*) from (select from ${schema}.delivery where state in (0, 1) limit $1::text::int) d),
      (select count(*) from (select from ${schema}.delivery where state = 2 limit $1::text::int) d),
      (select (c.reltuples / greatest(c.relpages, 1) * pg_relation_size(c.oid) / current_setting('block_size')::int)::bigint
        from pg_class c where c.oid = '${schema}.delivery'::regclass),
      (select (date_part('epoch', clock_timestamp() - min(d.created_at)) * 1000)::bigint
        from (select l.unit from ${schema}.lease l union all select generate_series(0, (select units from ${schema}.meta) - 1)) u
        cross join lateral (${firstFree(schema, 'u.unit')}) d)`;
}

async function unknownTypes(link: Link, schema: string): Promise<Unserved> {
  const rows = await link.query(
    `select d.type, count(*) from (select type from ${schema}.delivery where handler = 0 limit ${UNSERVED_LIMIT}) d
    group by d.type order by d.type`,
    [],
  );
  return rows.map(([type, count]) => ({
    reason: 'no-handler',
    handler: undefined,
    type: type as string,
    generation: undefined,
    count: Number(count),
  }));
}

/** Lanes that have open deliveries and no living worker, and deliveries of a generation that has no lane at all. */
async function lanesWithoutWorker(link: Link, schema: string): Promise<Unserved> {
  const units = `(select units from ${schema}.meta)`;
  const open = (range: string): string =>
    `select d.handler, d.generation from ${schema}.delivery d where ${range} and d.state in (0, 1) limit ${UNSERVED_LIMIT}`;
  const rows = await link.query(
    `select h.name, n.generation, n.count from (
      select l.handler, l.generation, count(*) from ${schema}.lane l
      cross join lateral (${open(`d.unit >= l.id * ${units} and d.unit < (l.id + 1) * ${units}`)}) d
      where l.id not in (select unnest(w.lanes) from ${schema}.worker w where w.expires_at > clock_timestamp())
      group by l.handler, l.generation
      union all
      select d.handler, d.generation, count(*) from (${open(`d.unit >= 0 and d.unit < ${units} and d.handler <> 0`)}) d
      where exists (select from ${schema}.handler p where p.is_pinned)
      group by d.handler, d.generation
    ) n join ${schema}.handler h on h.id = n.handler order by h.name, n.generation`,
    [],
  );
  return rows.map(([handler, generation, count]) => ({
    reason: generation === null ? 'no-worker' : 'generation-unserved',
    handler: handler as string,
    type: undefined,
    generation: generation === null ? undefined : Number(generation),
    count: Number(count),
  }));
}
