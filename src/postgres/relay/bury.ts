import { errorFingerprint, FINGERPRINT_VERSION } from '../../relay/error-fingerprint.ts';
import type { DeliveryError } from '../../relay/relay-store.ts';
import { fence, FENCED_ANSWER, IS_PLACE } from './fence.ts';

/** The hour of a time, counted from 1970. */
export const HOUR_NOW = `floor(extract(epoch from clock_timestamp()) / 3600)::int`;

/**
 * Makes deliveries dead letters, each with the id of its error group in its error, and counts them.
 *
 * The group's row is written when it happens for the first time, in the order of the ids, so that two processes wait for each other
 * and do not deadlock. How often it happens is counted by hour in one of sixteen rows, the worker's: processes that bury thousands of
 * one group at once do not stand in line for one row.
 */
export function buryStatement(schema: string): string {
  const handler = `(select h.service || E'\\n' || h.name from ${schema}.handler h where h.id = d.handler)`;
  const group = `'${FINGERPRINT_VERSION}-' || left(encode(sha256(convert_to(
    concat_ws(E'\\n', ${handler}, d.type, x.cause), 'UTF8')), 'hex'), 16)`;
  return `with ${fence(schema)},
    x as (
      select *, clock_timestamp() as at from json_to_recordset($3::text::json) as x (unit int, epoch bigint, seq bigint, state smallint, version int,
        cycle int, attempts int, error jsonb, holds boolean, duration_ms float8, cause text, frames jsonb,
        behind bigint)),
    d as (
      update ${schema}.delivery d set state = 2, due_at = null, failed_at = x.at,
        first_failed_at = coalesce(d.first_failed_at, x.at), holds = d.key is not null and x.holds,
        ran_at = coalesce(x.at - x.duration_ms * interval '1 millisecond', d.ran_at),
        attempts = x.attempts, error = x.error || jsonb_build_object('group', ${group}), starts = 0,
        faults = null
      from x join f on f.unit = x.unit and f.epoch = x.epoch where ${IS_PLACE} and d.cycle = x.cycle
        and case when x.behind is null then d.version = x.version else ${mayBeParked(schema)} end
      returning d.seq, d.handler, d.type, d.error, d.error ->> 'group' as "group", x.frames),
    named as (
      insert into ${schema}.error_group (id, service, handler, type, error, frames)
      select distinct on (d."group") d."group", h.service, h.name, d.type, d.error - 'stack' - 'group', d.frames
      from d join ${schema}.handler h on h.id = d.handler
      where not exists (select from ${schema}.error_group g where g.id = d."group")
      order by d."group" on conflict (id) do nothing),
    counted as (
      insert into ${schema}.error_tally as t ("group", hour, shard, n, last_at)
      select d."group", ${HOUR_NOW}, get_byte(uuid_send($1::text::uuid), 15) % 16, count(*), clock_timestamp()
      from d group by d."group" order by d."group"
      on conflict ("group", hour, shard) do update set n = t.n + excluded.n, last_at = greatest(t.last_at, excluded.last_at))
    ${FENCED_ANSWER}`;
}

/**
 * What is parked must stand behind a dead letter that blocks the key, still: an operator may have released, skipped or replayed it since
 * the worker decided, and would not do it again for this one. Locked, so that one who does it at this moment is waited for, or waits and
 * takes this one along. Its own version is not compared: refused because somebody edits it, it would be ready behind those that are parked
 * with it, and run after them.
 */
function mayBeParked(schema: string): string {
  return `exists (select from ${schema}.delivery h where h.unit = any (array[x.unit]) and h.seq = x.behind
          and h.state = 2 and h.holds for share)`;
}

/** What the statement is told of an error beside the error itself. */
export function causeOf(error: DeliveryError): { readonly cause: string; readonly frames: readonly string[] } {
  const { text, frames } = errorFingerprint(error);
  return { cause: text, frames };
}
