import type { SqlRunner } from '../sql-runner.ts';
import { lineWaiting } from './line-waiting.ts';

const BATCH = 1_000;
/** How many batches one round deletes at most: what is left waits for the next. */
const MAX_BATCHES = 50;

/** Forgets destinations that nothing was sent to for so long, but for those whose breaker is open: somebody waits for them. */
export async function forgetDestinations(sql: SqlRunner, schema: string, keepMs: number): Promise<void> {
  const destinationForget = `delete from ${schema}.http_destination where state = 0 and not is_held
    and last_attempt_at < clock_timestamp() - $1::text::float8 * interval '1 millisecond'`;
  await sql.query(destinationForget, [keepMs]);
}

/** Forgets keys of flow control that nothing was published under for so long, where nothing waits and nobody has said anything by hand. */
export async function forgetFlows(sql: SqlRunner, schema: string, keepMs: number): Promise<void> {
  const isOld = `not (f.is_paused or f.is_parallelism_pinned or f.is_rate_pinned)
      and f.used_at < clock_timestamp() - $1::text::float8 * interval '1 millisecond'`;
  const flowForget = `with old as (select f.key from ${schema}.http_flow f where ${isOld} order by f.used_at limit ${BATCH})
    delete from ${schema}.http_flow f using old where f.key = old.key and ${isOld} and ${lineWaiting(schema, `'flow:' || f.key`)} = 0`;
  await sql.query(flowForget, [keepMs]);
}

/** Forgets lines of the log that are older than `keepMs`, the oldest first, a thousand in a statement. Answers how many. */
export async function forgetLog(sql: SqlRunner, schema: string, keepMs: number): Promise<number> {
  const eventForget = `with old as (
      select e.ctid as place from ${schema}.http_event e where e.at < clock_timestamp() - $1::text::float8 * interval '1 millisecond'
      order by e.at limit ${BATCH} for update skip locked),
    gone as (delete from ${schema}.http_event where ctid in (select place from old) returning 1)
    select count(*)::int as n from gone`;
  let all = 0;
  for (let batch = 0; batch < MAX_BATCHES; batch += 1) {
    const [row] = await sql.query(eventForget, [keepMs]);
    const count = Number(row?.['n']);
    all += count;
    if (count < BATCH) break;
  }
  return all;
}
