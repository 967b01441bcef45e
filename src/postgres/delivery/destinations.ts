import type { DestinationRecord, Destinations } from '../../delivery/destinations.ts';
import type { DestinationSight, SenderStore } from '../../delivery/sender-store.ts';
import { type Fields, readJson, readRecord } from '../operator/read-record.ts';
import type { SqlParam, SqlRunner } from '../sql-runner.ts';
import { linesWaiting } from './line-waiting.ts';

/** How many destinations a list gives: those that are not closed first, then those that were sent to last. */
const MOST_LISTED = 1_000;
/** How long a probe may take where nobody says it. */
const PROBE_MS = 60_000;
const STATES = { closed: 0, probing: 1, open: 2 } as const;

/** A probe that did not end is open, and due. */
const IS_LOST = `d.state = 1 and d.probe_at <= clock_timestamp()`;
const STATE = `case when ${IS_LOST} then 'open' else (array['closed', 'probing', 'open'])[d.state + 1] end`;
const SIGHT = `json_build_object('destination', d.destination, 'state', ${STATE}, 'isHeld', d.is_held, 'epoch', d.epoch,
    'probes', greatest(0, d.failures - 1),
    'probeInMs', case when d.state = 2 and not d.is_held or ${IS_LOST}
      then ceil(greatest(0, extract(epoch from d.probe_at - clock_timestamp()) * 1000)) end)::text as row`;

/** Destinations and their breakers, for people. What they do is audited. */
export function destinations(sql: SqlRunner, schema: string): Destinations {
  const destinationList = `with waiting as materialized (${linesWaiting(schema, 'to:')})
    select json_build_object('destination', d.destination, 'breaker', ${STATE}, 'isHeld', d.is_held,
      'probeAt', case when d.state <> 0 and not d.is_held then d.probe_at end, 'failures', d.failures, 'openedAt', d.opened_at,
      'lastError', d.error, 'waiting', coalesce(w.n, 0), 'lastAttemptAt', d.last_attempt_at, 'lastStatus', d.last_status)::text as row
    from ${schema}.http_destination d left join waiting w on w.line = 'to:' || d.destination
    order by d.state = 0 and not d.is_held, d.last_attempt_at desc nulls last, d.destination limit ${MOST_LISTED}`;
  const audited = (verb: string): string => `audited as (insert into ${schema}.audit (actor, verb, reason, details)
      select $2::text, '${verb}', $3::text, jsonb_build_object('destination', destination) from changed)
    select destination from changed`;
  const destinationOpen = `with changed as (
      insert into ${schema}.http_destination as d (destination, state, is_held, epoch, opened_at)
      values ($1::text, 2, true, 1, clock_timestamp())
      on conflict (destination) do update set state = 2, is_held = true, epoch = d.epoch + 1, probe_at = null,
        opened_at = case d.state when 0 then clock_timestamp() else d.opened_at end, tx = pg_current_xact_id()
      where not d.is_held returning d.destination), ${audited('open-breaker')}`;
  const destinationClose = `with changed as (
      update ${schema}.http_destination d set state = 0, is_held = false, epoch = d.epoch + 1, probe_at = null, opened_at = null,
        failures = 0, error = null, tx = pg_current_xact_id()
      where d.destination = $1::text and (d.state <> 0 or d.is_held) returning d.destination), ${audited('close-breaker')}`;
  return {
    list: async () =>
      (await sql.query(destinationList)).map((row) =>
        readRecord<DestinationRecord>(readJson(row, 'row') as Fields, ['probeAt', 'openedAt', 'lastAttemptAt']),
      ),
    open: async (destination, { actor, reason }) => {
      await sql.query(destinationOpen, [destination, actor, reason ?? null]);
    },
    close: async (destination, { actor, reason }) =>
      (await sql.query(destinationClose, [destination, actor, reason ?? null])).length > 0,
  };
}

/** The same for the sender: what is not closed, and changes that nobody else has made meanwhile. */
export function destinationBreakers(
  sql: SqlRunner,
  schema: string,
): Pick<SenderStore, 'destinations' | 'changeDestination'> {
  const destinationLook = `select ${SIGHT} from ${schema}.http_destination d
      where d.destination in (select o.destination from ${schema}.http_destination o where o.state <> 0 or o.is_held
        union all (select c.destination from ${schema}.http_destination c where c.tx >= $1::text::xid8
          order by c.tx desc limit ${MOST_LISTED}))
    union all select pg_snapshot_xmin(pg_current_snapshot())::text`;
  const probeAt = `case when $3::text <> '0' then clock_timestamp() + $4::text::float8 * interval '1 millisecond' end`;
  const destinationChange = `with d as (
      insert into ${schema}.http_destination as d (destination, state, epoch, probe_at, failures, opened_at, error)
      values ($1::text, $3::text::smallint, $2::text::bigint + 1, ${probeAt}, case $3::text when '2' then 1 else 0 end,
        case $3::text when '2' then clock_timestamp() end, $5::text)
      on conflict (destination) do update set state = excluded.state, epoch = d.epoch + 1, probe_at = excluded.probe_at,
        failures = case excluded.state when 0 then 0 else d.failures + excluded.failures end,
        opened_at = case when excluded.state = 0 then null else coalesce(d.opened_at, excluded.opened_at) end,
        error = case when excluded.state = 0 then null else coalesce(excluded.error, d.error) end, tx = pg_current_xact_id()
      where d.epoch = $2::text::bigint and not d.is_held returning d.*)
    select ${SIGHT} from d`;
  const destinationSee = `select ${SIGHT} from ${schema}.http_destination d where d.destination = $1::text`;
  const see = async (text: string, params: readonly SqlParam[]): Promise<readonly DestinationSight[]> =>
    (await sql.query(text, params)).map((row) => readRecord<DestinationSight>(readJson(row, 'row') as Fields, []));
  let since: string | undefined;
  return {
    destinations: async () => {
      const rows = await sql.query(destinationLook, [since ?? LAST_TRANSACTION]);
      since = String(rows.at(-1)?.['row']);
      return rows.slice(0, -1).map((row) => readRecord<DestinationSight>(readJson(row, 'row') as Fields, []));
    },
    changeDestination: async ({ destination, epoch, to, probeInMs, error }) => {
      const waitMs = probeInMs ?? (to === 'probing' ? PROBE_MS : 0);
      const params = [destination, epoch, STATES[to], waitMs, error?.replaceAll('\u0000', '').toWellFormed() ?? null];
      const [changed] = await see(destinationChange, params);
      const sight = changed ?? (await see(destinationSee, [destination]))[0];
      return {
        ...(sight ?? { destination, state: 'closed', isHeld: false, epoch: 0, probes: 0 }),
        isChanged: changed !== undefined,
      };
    },
  };
}

/** At the first look nothing has changed since one before. */
export const LAST_TRANSACTION = '18446744073709551615';
