import type { BreakerAnswer, BreakerChange, RelaySession } from '../../relay/relay-store.ts';
import type { Link } from '../driver/driver.ts';
import type { SqlParam } from '../sql-runner.ts';

/** Whether the worker that tries a message of breaker `b` is not there any more. */
export function isProberGone(schema: string): string {
  return `not exists (select from ${schema}.worker w where w.id = b.prober and w.expires_at > clock_timestamp())`;
}

/** A row `b` as a `BreakerSight` of worker $1. */
export function sightOf(schema: string): string {
  const gone = `b.state = 1 and ${isProberGone(schema)}`;
  return `json_strip_nulls(json_build_object('name', b.name, 'epoch', b.epoch, 'probes', b.probes,
    'state', case when ${gone} then 'open' else (array['closed', 'probing', 'open'])[b.state + 1] end,
    'probeInMs', case when ${gone} then 0
      when b.state = 2 then greatest(0, extract(epoch from b.probe_at - clock_timestamp()) * 1000) end,
    'isMine', b.state = 1 and b.prober = $1::text::uuid))`;
}

const IN_MS = `clock_timestamp() + $4::text::float8 * interval '1 millisecond'`;

/** The statements of workers on breakers, for one schema: one for each kind of change. */
export function breakerStatements(schema: string): Readonly<Record<BreakerChange['kind'], string>> {
  const mine = `b.service = (select w.service from ${schema}.worker w where w.id = $1::text::uuid) and b.name = $2::text`;
  const change = (set: string, where: string): string => `with b as (
      update ${schema}.breaker b set epoch = b.epoch + 1, ${set}
      where ${mine} and b.epoch = $3::text::bigint and ${where} returning b.*)
    select json_build_object('isChanged', true, 'sight', ${sightOf(schema)})::text from b
    union all select json_build_object('isChanged', false, 'sight', ${sightOf(schema)})::text from ${schema}.breaker b
    where ${mine} and not exists (select from b)`;
  const opened = `state = 2, since = clock_timestamp(), probe_at = ${IN_MS}, prober = null`;
  const isMyProbe = `b.state = 1 and b.prober = $1::text::uuid`;
  return {
    open: change(
      `${opened}, probes = 0, error = $5::text::jsonb, changed_at = null, actor = null, reason = null`,
      'b.state = 0',
    ),
    claim: change(
      `state = 1, since = clock_timestamp(), probe_at = null, prober = $1::text::uuid`,
      `not b.is_held and (b.state = 2 and b.probe_at <= clock_timestamp() or b.state = 1 and ${isProberGone(schema)})`,
    ),
    close: change(
      `state = 0, since = clock_timestamp(), probe_at = null, prober = null, probes = 0, error = null`,
      isMyProbe,
    ),
    // A probe that came to nothing leaves the count of those that failed.
    reopen: change(
      `${opened}, probes = b.probes + case when $5::text is null then 0 else 1 end, error = coalesce($5::text::jsonb, b.error)`,
      isMyProbe,
    ),
  };
}

/** What a worker makes of breakers, over the connection of the heartbeat. */
export function breakerAct(link: Link, schema: string): Pick<RelaySession<never>, 'changeBreaker'> {
  const statements = breakerStatements(schema);
  return {
    changeBreaker: async (workerId, change) => {
      const [row] = await link.query(statements[change.kind], [
        workerId,
        change.name,
        change.epoch,
        ...extrasOf(change),
      ]);
      return row && (JSON.parse(row[0] as string) as BreakerAnswer);
    },
  };
}

function extrasOf(change: BreakerChange): readonly SqlParam[] {
  if (change.kind === 'claim' || change.kind === 'close') return [];
  return [change.probeInMs, change.error ? JSON.stringify(change.error) : null];
}
