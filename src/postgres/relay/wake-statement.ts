/**
 * Wakes whoever sleeps, at the commit. A NOTIFY only if somebody does: one in each commit would put all senders behind one
 * lock. And none when the queue of notifications is half full: a full one would fail the caller's commit, and sleepers look
 * again by themselves anyway. And none in a transaction that says so: one that is to be prepared (two-phase commit) may not notify.
 */
export function wakeStatement(schema: string, channel: string): string {
  return `select pg_notify('${channel}', '')::text as id from ${schema}.waiter
    where pg_notification_queue_usage() < 0.5 and current_setting('${WAKE_SETTING}', true) is distinct from 'off' limit 1`;
}

const WAKE_SETTING = 'holdfast.wake';

/** For the rest of the transaction nobody is woken: workers find what was sent when they poll. */
export const WAKE_OFF: string = `select set_config('${WAKE_SETTING}', 'off', true)`;

/** What is heard on the channel where it is no call to wake up. */
export const UNITS_NEWS = 'units';

/** Tells all workers that one has come or gone, or has given units back. Seldom, so it is told whether or not anybody sleeps. */
export function unitsNewsStatement(channel: string): string {
  return `select pg_notify('${channel}', '${UNITS_NEWS}')::text where pg_notification_queue_usage() < 0.5`;
}

/** $1: a channel · $2: what to send to it. No row: nothing was sent, because the queue of notifications is half full. */
export const NOTIFY_TEST: string =
  'select pg_notify($1::text, $2::text)::text where pg_notification_queue_usage() < 0.5';

/** The channel on which the workers of a schema are woken. */
export function wakeChannel(schemaName: string): string {
  return `${schemaName}_ready`;
}
