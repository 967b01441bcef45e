import type { FlowControlRecord, FlowControls } from '../../delivery/line-settings.ts';
import { type Fields, readJson, readRecord } from '../operator/read-record.ts';
import type { ChangedBy } from '../../delivery/webhook-endpoints.ts';
import type { SqlParam, SqlRunner } from '../sql-runner.ts';
import { audited, auditParams } from './audited.ts';
import { linesRunning, linesWaiting, lineWaiting } from './line-waiting.ts';
import { DEFAULT_PERIOD_MS } from './publish.ts';
import { isTenants, ownNameSql } from './tenant-sql.ts';

interface FlowChange {
  readonly by: ChangedBy | undefined;
  /** What the audit says of it. */
  readonly details: Readonly<Record<string, unknown>>;
  /** From $2 on. */
  readonly params?: readonly SqlParam[];
}

/** How many keys a list gives. */
const MOST_LISTED = 1_000;

const IS_OVER = `coalesce(clock_timestamp() >= f.period_start + f.period_ms * interval '1 millisecond', true)`;
const RECORD = `'key', f.key, 'parallelism', f.parallelism, 'rate', f.rate, 'periodMs', f.period_ms, 'isPaused', f.is_paused,
    'isParallelismPinned', f.is_parallelism_pinned, 'isRatePinned', f.is_rate_pinned,
    'started', case when ${IS_OVER} then 0 else f.started end, 'periodStart', case when not ${IS_OVER} then f.period_start end`;

/** Limits under keys, and what is going on there. `onChanged` is told the line. */
export function flowControls(sql: SqlRunner, schema: string, onChanged: (line: string) => Promise<void>): FlowControls {
  const active = `(select r.n from (${linesRunning(schema, 'flow:')}) r where r.line = 'flow:' || f.key)`;
  const flowGet = `select json_build_object(${RECORD}, 'open', ${lineWaiting(schema, `'flow:' || f.key`)}, 'active', coalesce(${active}, 0))::text as row
    from ${schema}.http_flow f where f.key = $1::text`;
  const flowList = `with waiting as materialized (${linesWaiting(schema, 'flow:')}),
    running as materialized (${linesRunning(schema, 'flow:')})
    select json_build_object(${RECORD}, 'open', coalesce(w.n, 0), 'active', coalesce(r.n, 0))::text as row
    from ${schema}.http_flow f left join waiting w on w.line = 'flow:' || f.key left join running r on r.line = 'flow:' || f.key
    where ($1::text is null or position($1::text in ${ownNameSql('f.key')}) > 0) and ${isTenants('f.key', 2)} order by f.key limit ${MOST_LISTED}`;
  const write = async (
    key: string,
    columns: string,
    values: string,
    set: string,
    { by, details, params = [] }: FlowChange,
  ): Promise<void> => {
    const change = `insert into ${schema}.http_flow as f (key${columns}) values ($1::text${values})
      on conflict (key) do update set tx = pg_current_xact_id(), ${set} returning 1 as n`;
    const entry = auditParams(by, 'change-flow', { key, ...details });
    await sql.query(audited(schema, change, params.length + 2), [key, ...params, ...entry]);
    await onChanged(`flow:${key}`);
  };
  const anew = 'period_start = null, started = 0';
  return {
    get: async (key) => {
      const [row] = await sql.query(flowGet, [key]);
      return row && toFlow(row);
    },
    list: async (search, tenant) => (await sql.query(flowList, [search ?? null, tenant ?? null])).map(toFlow),
    pause: (key, by) => write(key, ', is_paused', ', true', 'is_paused = true', { by, details: { change: 'pause' } }),
    resume: (key, by) => write(key, '', '', 'is_paused = false', { by, details: { change: 'resume' } }),
    resetRate: (key, by) => write(key, '', '', anew, { by, details: { change: 'reset' } }),
    pin: (key, { parallelism, rate, periodMs }, by) => {
      const params = [parallelism ?? null, rate ?? null, rate === undefined ? null : (periodMs ?? DEFAULT_PERIOD_MS)];
      return write(
        key,
        ', parallelism, rate, period_ms, is_parallelism_pinned, is_rate_pinned',
        ', $2::text::int, $3::text::int, $4::text::bigint, $2::text is not null, $3::text is not null',
        `parallelism = coalesce(excluded.parallelism, f.parallelism), rate = coalesce(excluded.rate, f.rate),
        period_ms = coalesce(excluded.period_ms, f.period_ms), is_rate_pinned = f.is_rate_pinned or excluded.is_rate_pinned,
        is_parallelism_pinned = f.is_parallelism_pinned or excluded.is_parallelism_pinned, ${anew}`,
        { by, details: { change: 'pin', parallelism, rate, periodMs }, params },
      );
    },
    unpin: (key, { parallelism = false, rate = false }, by) =>
      write(
        key,
        '',
        '',
        `is_parallelism_pinned = f.is_parallelism_pinned and not $2::text::boolean,
        is_rate_pinned = f.is_rate_pinned and not $3::text::boolean`,
        { by, details: { change: 'unpin', parallelism, rate }, params: [parallelism, rate] },
      ),
  };
}

/** A message that runs is not done either. */
function toFlow(row: Record<string, unknown>): FlowControlRecord {
  const { open, ...fields } = readJson(row, 'row') as Fields & { readonly open: number; readonly active: number };
  return { ...readRecord<FlowControlRecord>(fields, ['periodStart']), waiting: Math.max(0, open - fields.active) };
}
