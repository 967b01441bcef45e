import type { FlowControlRecord, FlowControls } from '../../delivery/line-settings.ts';
import { type Fields, readJson, readRecord } from '../operator/read-record.ts';
import type { SqlParam, SqlRunner } from '../sql-runner.ts';
import { linesRunning, linesWaiting, lineWaiting } from './line-waiting.ts';
import { DEFAULT_PERIOD_MS } from './publish.ts';

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
    where $1::text is null or position($1::text in f.key) > 0 order by f.key limit ${MOST_LISTED}`;
  const change = async (
    key: string,
    columns: string,
    values: string,
    set: string,
    params: readonly SqlParam[] = [],
  ): Promise<void> => {
    await sql.query(
      `insert into ${schema}.http_flow as f (key${columns}) values ($1::text${values})
      on conflict (key) do update set tx = pg_current_xact_id(), ${set}`,
      [key, ...params],
    );
    await onChanged(`flow:${key}`);
  };
  const anew = 'period_start = null, started = 0';
  return {
    get: async (key) => {
      const [row] = await sql.query(flowGet, [key]);
      return row && toFlow(row);
    },
    list: async (search) => (await sql.query(flowList, [search ?? null])).map(toFlow),
    pause: (key) => change(key, ', is_paused', ', true', 'is_paused = true'),
    resume: (key) => change(key, '', '', 'is_paused = false'),
    resetRate: (key) => change(key, '', '', anew),
    pin: (key, { parallelism, rate, periodMs }) => {
      const given = [parallelism ?? null, rate ?? null, rate === undefined ? null : (periodMs ?? DEFAULT_PERIOD_MS)];
      return change(
        key,
        ', parallelism, rate, period_ms, is_parallelism_pinned, is_rate_pinned',
        ', $2::text::int, $3::text::int, $4::text::bigint, $2::text is not null, $3::text is not null',
        `parallelism = coalesce(excluded.parallelism, f.parallelism), rate = coalesce(excluded.rate, f.rate),
        period_ms = coalesce(excluded.period_ms, f.period_ms), is_rate_pinned = f.is_rate_pinned or excluded.is_rate_pinned,
        is_parallelism_pinned = f.is_parallelism_pinned or excluded.is_parallelism_pinned, ${anew}`,
        given,
      );
    },
    unpin: (key, { parallelism = false, rate = false }) =>
      change(
        key,
        '',
        '',
        `is_parallelism_pinned = f.is_parallelism_pinned and not $2::text::boolean,
        is_rate_pinned = f.is_rate_pinned and not $3::text::boolean`,
        [parallelism, rate],
      ),
  };
}

/** A message that runs is not done either. */
function toFlow(row: Record<string, unknown>): FlowControlRecord {
  const { open, ...fields } = readJson(row, 'row') as Fields & { readonly open: number; readonly active: number };
  return { ...readRecord<FlowControlRecord>(fields, ['periodStart']), waiting: Math.max(0, open - fields.active) };
}
