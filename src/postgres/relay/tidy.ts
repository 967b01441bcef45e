import type { Effects } from '../../kernel/effects.ts';
import type { HouseReport, KeepOptions } from '../../relay/house-report.ts';
import { sqlStateOf } from '../driver/database-error.ts';
import type { Link } from '../driver/driver.ts';
import { HISTORY_SLOTS } from '../schema/messages.ts';
import type { SqlParam } from '../sql-runner.ts';
import { adopt, adoptStatements, registryLock } from './adopt.ts';
import { countHistory } from './count-history.ts';
import { forgetOperations } from './forget.ts';
import { houseReport } from './house-report.ts';
import { keepSample } from './sample.ts';

const BATCH = 1_000;
/** How many batches of expired keys one round deletes at most: the housekeeper has other things to do. */
const MAX_BATCHES = 20;
const ADOPT_IN_A_ROUND = 10_000;
/**
 * A report that takes this long is good for twenty times as long: while somebody's transaction stays open, nothing can be cleaned up
 * behind what is handled, and counting walks over all of it (a second for 300,000 rows).
 */
const SLOW_REPORT_MS = 500;
const REPORT_PART = 20;

/** The housekeeper's round, for one schema, over a connection of its own. */
export function tidyAct(link: Link, schema: string, effects: Effects): (keep: KeepOptions) => Promise<HouseReport> {
  const adoption = adoptStatements(schema);
  let last: { readonly report: HouseReport; readonly goodUntilMs: number } | undefined;
  return async ({ historyMs, maxPending }) => {
    await deleteExpired(link, schema, 'dedup', 'key');
    await deleteExpired(link, schema, 'inbox', 'ctid');
    await deleteExpired(link, schema, 'command', 'id');
    await turnRing(link, schema, historyMs);
    await countHistory(link, schema);
    await forgetFacts(link, schema, historyMs);
    await forgetLinks(link, schema, historyMs);
    await forgetEdits(link, schema, historyMs);
    await forgetOperations(link, schema, historyMs);
    await link.transaction(async (query) => {
      await query(`select ${registryLock(schema)}::text`, []);
      await adopt(query, adoption, ADOPT_IN_A_ROUND);
    });
    const beganMs = effects.monoMs();
    if (last && beganMs < last.goodUntilMs) return last.report;
    const report = await houseReport(link, schema, maxPending);
    await keepSample(link, schema, report);
    const tookMs = effects.monoMs() - beganMs;
    last = { report, goodUntilMs: tookMs < SLOW_REPORT_MS ? beganMs : beganMs + tookMs * REPORT_PART };
    return report;
  };
}

/** Facts are kept as long as the history. Their ids tell when they were made. */
async function forgetFacts(link: Link, schema: string, historyMs: number): Promise<void> {
  const oldest = `(lpad(to_hex(floor(extract(epoch from clock_timestamp()) * 1000 - $1::text::float8)::bigint), 12, '0')
    || repeat('0', 20))::uuid`;
  const statement = `with old as (select id from ${schema}.fact where id < ${oldest} order by id limit ${BATCH}),
    gone as (delete from ${schema}.fact where id in (select id from old) returning 1)
    select count(*)::int from gone`;
  await inBatches(link, statement, [historyMs]);
}

/** Ids that lead to no message any more. Those of one that is still there are looked at again after as long a time. */
async function forgetLinks(link: Link, schema: string, historyMs: number): Promise<void> {
  const statement = `with old as (
      select ctid as place, message from ${schema}.trace_link
      where at < clock_timestamp() - $1::text::float8 * interval '1 millisecond' order by at limit ${BATCH} for update skip locked),
    kept as (
      select place from old o where exists (select from ${schema}.delivery d where d.id = o.message)
        or exists (select from ${schema}.delivered d where d.id = o.message)
        or exists (select from ${schema}.command c where c.id = o.message)),
    renewed as (update ${schema}.trace_link set at = clock_timestamp() where ctid in (select place from kept) returning 1),
    gone as (delete from ${schema}.trace_link where ctid in (select place from old except select place from kept) returning 1)
    select (select count(*) from renewed)::int + (select count(*) from gone)::int`;
  await inBatches(link, statement, [historyMs]);
}

/** Payloads from before an edit, of messages that are not there any more. */
async function forgetEdits(link: Link, schema: string, historyMs: number): Promise<void> {
  const statement = `with old as (
      select e.ctid as place from ${schema}.edit e
      where e.edited_at < clock_timestamp() - $1::text::float8 * interval '1 millisecond'
        and not exists (select from ${schema}.delivery d where d.id = e.id)
        and not exists (select from ${schema}.delivered d where d.id = e.id) limit ${BATCH}),
    gone as (delete from ${schema}.edit where ctid in (select place from old) returning 1)
    select count(*)::int from gone`;
  await inBatches(link, statement, [historyMs]);
}

async function deleteExpired(link: Link, schema: string, table: string, key: string): Promise<void> {
  // A key that is just being renewed is locked, and is none of ours any more.
  const statement = `with old as (
      select ${key} as k from ${schema}.${table} where expires_at <= now() order by expires_at limit ${BATCH} for update skip locked),
    gone as (delete from ${schema}.${table} where ${key} in (select k from old) returning 1)
    select count(*)::int from gone`;
  await inBatches(link, statement, []);
}

/** Runs the statement, which answers how many rows it has dealt with, until there are no more, or it is somebody else's turn. */
async function inBatches(link: Link, statement: string, params: readonly SqlParam[]): Promise<void> {
  for (let batch = 0; batch < MAX_BATCHES; batch += 1) {
    const [row] = await link.query(statement, params);
    if (Number(row?.[0]) < BATCH) return;
  }
}

/**
 * Moves on to the next slot of the history when the present one is a seventh of the history old, and empties that first: so a
 * finished delivery is kept for at least the history. A long reader of the slot holds it up for 100 ms, then the ring stays
 * where it is until the next round: who settles waits for nobody.
 */
async function turnRing(link: Link, schema: string, historyMs: number): Promise<void> {
  const isOld = `slot_since < clock_timestamp() - $1::text::float8 * interval '1 millisecond'`;
  const slotMs = historyMs / (HISTORY_SLOTS - 1);
  const [old] = await link.query(`select slot from ${schema}.meta where ${isOld}`, [slotMs]);
  if (old === undefined) return;
  try {
    await link.transaction(async (query) => {
      await query(`set local lock_timeout = 100`);
      const [row] = await query(`select slot from ${schema}.meta where ${isOld} for update`, [slotMs]);
      if (row === undefined) return;
      const next = (Number(row[0]) + 1) % HISTORY_SLOTS;
      await query(`truncate ${schema}.delivered_${next}`);
      await query(`delete from ${schema}.history_count where slot = $1::text::smallint`, [next]);
      await query(
        `update ${schema}.meta set slot = $1::text::smallint, slot_since = clock_timestamp(),
          forgotten_until = greatest(forgotten_until, clock_timestamp() - $2::text::float8 * interval '1 millisecond')`,
        [next, historyMs],
      );
    });
  } catch (error) {
    if (sqlStateOf(error) !== '55P03') throw error;
  }
}
