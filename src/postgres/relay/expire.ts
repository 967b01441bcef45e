import { COME_BACK_MS } from '../../relay/relay-store.ts';

/**
 * Expires dead workers, for one schema. $1: the worker that looks · $2: the liveness lock it holds, or null. Answers one row: after how
 * many milliseconds to look again because a worker's lock is missing (null: none is), and whether the lock $2 is lost (1 or 0).
 *
 * Two ways to be dead. The lease ran out: the process hangs, or its host is gone. Or nobody holds its liveness lock: the server
 * ended its connection, which it does at once when the process dies. A live worker whose connections were ended has COME_BACK_MS to
 * say so: any heartbeat of its own takes the mark away. A worker without a lock, behind a transaction pooler, has its lease alone.
 *
 * The locks are tried, shared and for this statement only, so that workers that look at once do not see each other's: one look
 * costs as many tries as there are workers, needs no rights, and reads no list of sessions.
 *
 * Leases of units are not touched: a unit whose owner is no worker any more is free. Rows that are locked are skipped, the own one
 * too: two that mark each other would wait in a circle.
 */
export function expireStatement(schema: string, tellUnits: string): string {
  const worker = '$1::text::uuid';
  const held = '$2::text::bigint';
  const now = 'clock_timestamp()';
  const lease = `${now} + lease_ms * interval '1 millisecond'`;
  const grace = `interval '${COME_BACK_MS} milliseconds'`;
  const isMissing = `exists (select from missing m where m.id = w.id and m.liveness_lock = w.liveness_lock)`;
  return `with own as materialized (
      select ${held} is not null and pg_try_advisory_xact_lock_shared(${held}) as is_lost),
    kept as (
      update ${schema}.worker w set lock_missing_since = null, liveness_lock = m.liveness_lock
      from (select w.id, case when not own.is_lost then ${held} end as liveness_lock from ${schema}.worker w, own
        where w.id = ${worker} and (w.lock_missing_since is not null
          or w.liveness_lock is distinct from case when not own.is_lost then ${held} end)
        for update of w skip locked) m
      where w.id = m.id),
    missing as materialized (
      select w.id, w.liveness_lock, w.lock_missing_since from ${schema}.worker w
      where w.liveness_lock is not null and w.id <> ${worker} and pg_try_advisory_xact_lock_shared(w.liveness_lock)),
    marked as (
      update ${schema}.worker set lock_missing_since = ${now} where id in (
        select w.id from ${schema}.worker w where w.lock_missing_since is null and ${isMissing} for update skip locked)),
    -- Nobody lives for longer than a lease from now: the clock was set back since the last beat, and the next one will tell.
    early as (
      select id, ${lease} as expires_at from ${schema}.worker where expires_at > ${lease} for update skip locked),
    shortened as (
      update ${schema}.worker w set expires_at = e.expires_at from early e where w.id = e.id),
    dead as (
      select w.id from ${schema}.worker w where w.expires_at < ${now} or (w.lock_missing_since <= ${now} - ${grace} and ${isMissing})
      for update skip locked),
    gone as (delete from ${schema}.worker where id in (select id from dead)),
    unseen as (delete from ${schema}.running where worker in (select id from dead)),
    awake as (delete from ${schema}.waiter where worker in (select id from dead))
    select (select ceil(extract(epoch from min(coalesce(m.lock_missing_since, ${now}) + ${grace} - ${now})) * 1000)::int
        from missing m where m.id not in (select id from dead)),
      (select is_lost::int from own),
      (${tellUnits} and exists (select from dead))`;
}
