import type { LineSettings } from '../../delivery/line-settings.ts';
import type { SqlRunner } from '../sql-runner.ts';
import { DEFAULT_PERIOD_MS } from './publish.ts';

type Answer = Awaited<ReturnType<LineSettings['takeRate']>>;

interface Asked {
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Asks for starts under the rates of keys. A period begins with the first start after the one before has ended, by the database's clock.
 * What is asked for while a statement is under way goes into the next: one for all keys, at most one at a time.
 */
export function takeRates(sql: SqlRunner, schema: string): LineSettings['takeRate'] {
  const rateTake = rateStatement(schema);
  let waiting = new Map<string, Asked[]>();
  let isRunning = false;
  const run = async (): Promise<void> => {
    isRunning = true;
    // Those who ask in the same turn are one statement.
    await Promise.resolve();
    while (waiting.size > 0) {
      const asked = waiting;
      waiting = new Map();
      await answerAll(sql, rateTake, asked).catch((error: unknown) => {
        for (const one of [...asked.values()].flat()) one.reject(error);
      });
    }
    isRunning = false;
  };
  return (key) =>
    new Promise<Answer>((resolve, reject) => {
      const asked = waiting.get(key) ?? [];
      waiting.set(key, [...asked, { resolve, reject }]);
      if (!isRunning) void run();
    });
}

async function answerAll(
  sql: SqlRunner,
  statement: string,
  waiting: ReadonlyMap<string, readonly Asked[]>,
): Promise<void> {
  const input = Array.from(waiting, ([key, asked]) => ({ key, n: asked.length }));
  const rows = await sql.query(statement, [JSON.stringify(input)]);
  const answers = new Map(rows.map((row) => [String(row['key']), row]));
  for (const [key, asked] of waiting) {
    const row = answers.get(key);
    for (const [nth, { resolve }] of asked.entries()) resolve({ waitMs: row && waitOf(row, nth) });
  }
}

/** The first are granted; the others wait for the end of the period, or of one after it: the rate is that of each. */
function waitOf(row: Record<string, unknown>, nth: number): number | undefined {
  const granted = Number(row['granted']);
  if (nth < granted) return undefined;
  const periods = Math.floor((nth - granted) / Number(row['rate']));
  return Math.max(1, Math.ceil(Number(row['left_ms']) + periods * Number(row['period_ms'])));
}

/** Rows are locked in the order of their keys, so that two processes wait for each other and do not deadlock. */
function rateStatement(schema: string): string {
  return `with locked as materialized (
      select f.key, f.rate, coalesce(f.period_ms, ${DEFAULT_PERIOD_MS}) as period_ms, f.period_start, f.started, a.n
      from json_to_recordset($1::text::json) as a (key text, n int) join ${schema}.http_flow f on f.key = a.key
      where f.rate is not null order by f.key for update of f),
    clocked as (
      select *, clock_timestamp() as now_at from locked),
    looked as (
      select *, coalesce(now_at >= period_start + period_ms * interval '1 millisecond', true) as is_new from clocked),
    decided as (
      select *, case when is_new then now_at else period_start end as begun,
        least(n, greatest(0, rate - case when is_new then 0 else started end)) as granted from looked),
    written as (
      update ${schema}.http_flow f set period_start = d.begun, started = d.granted + case when d.is_new then 0 else f.started end
      from decided d where f.key = d.key and d.granted > 0)
    select key, granted, rate, period_ms::text as period_ms,
      (extract(epoch from begun - now_at) * 1000 + period_ms)::text as left_ms from decided`;
}
