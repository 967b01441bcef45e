/**
 * Wakes whoever sleeps, at the commit. A NOTIFY only if somebody does: one in each commit would put all senders behind one
 * lock. And none when the queue of notifications is half full: a full one would fail the caller's commit, and sleepers look
 * again by themselves anyway.
 */
export function wakeStatement(schema: string, channel: string): string {
  return `select pg_notify('${channel}', '')::text as id from ${schema}.waiter
    where pg_notification_queue_usage() < 0.5 limit 1`;
}

/** What is heard on the channel where it is no call to wake up. */
export const UNITS_NEWS = 'units';

/** Tells all workers that one has come or gone, or has given units back. Seldom, so it is told whether or not anybody sleeps. */
export function unitsNewsStatement(channel: string): string {
  return `select pg_notify('${channel}', '${UNITS_NEWS}')::text where pg_notification_queue_usage() < 0.5`;
}

/** The channel on which the workers of a schema are woken. */
export function wakeChannel(schemaName: string): string {
  return `${schemaName}_ready`;
}
