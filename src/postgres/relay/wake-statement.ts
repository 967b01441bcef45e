/**
 * Wakes whoever sleeps, at the commit. A NOTIFY only if somebody does: one in each commit would put all senders behind one
 * lock. And none when the queue of notifications is half full: a full one would fail the caller's commit, and sleepers look
 * again by themselves anyway.
 */
export function wakeStatement(schema: string, channel: string): string {
  return `select pg_notify('${channel}', '')::text as id from ${schema}.waiter
    where pg_notification_queue_usage() < 0.5 limit 1`;
}

/** The channel on which the workers of a schema are woken. */
export function wakeChannel(schemaName: string): string {
  return `${schemaName}_ready`;
}
