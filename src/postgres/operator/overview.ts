import type { Page } from '../../operator/operator.ts';
import { OptionCheck } from '../../kernel/check-options.ts';
import { attentionOf, type AttentionFacts, verdictOf } from '../../operator/attention.ts';
import {
  OVERVIEW_STEPS,
  overviewPoints,
  rangeStartMs,
  type Sample,
  type StepTally,
} from '../../operator/overview-points.ts';
import { type HandlerOverview, type Overview, OVERVIEW_RANGES, type OverviewRange } from '../../operator/overview.ts';
import type { HandlerRecord } from '../../operator/operator-records.ts';
import type { HouseReport } from '../../relay/relay-store.ts';
import { sentSoFar } from '../relay/sample.ts';
import type { SqlRunner } from '../sql-runner.ts';
import { listAudit } from './audit-list.ts';
import { breakerVerbs } from './breaker-verbs.ts';
import { bulkVerbs } from './bulk-verbs.ts';
import { groupVerbs } from './group-verbs.ts';
import { handlerVerbs } from './handler-verbs.ts';
import { type Fields, readJson, readRecord } from './read-record.ts';

/** Nothing is counted further than this. */
const CAP = 10_000;
const MOST_GROUPS = 100;
const LAST_CHANGES = 10;

/** What the first statement answers. */
interface Present {
  readonly nowMs: number;
  readonly sent: number;
  readonly isPaused: boolean;
  readonly workers: number;
  readonly aliveMs: number | null;
  readonly heldKeys: number;
  readonly last: { readonly ms: number; readonly isFull: boolean; readonly unserved: HouseReport['unserved'] } | null;
  readonly handlers: readonly Fields[];
}

/** What a handler of the overview has besides its record. */
type HandlerNumbers = Omit<HandlerOverview, Exclude<keyof HandlerRecord, 'service' | 'handler'>>;

/** Is anything lost or late, and what needs somebody. */
export async function readOverview(sql: SqlRunner, schema: string, range: OverviewRange): Promise<Overview> {
  const check = new OptionCheck('overview()');
  check.word('range', range, OVERVIEW_RANGES);
  check.done();
  const [row] = await sql.query(presentStatement(schema));
  const present = readJson(row, 'row') as Present;
  const [records, points, breakers, groups, bulks, audit] = await Promise.all([
    handlerVerbs(sql, schema).handlers(),
    readPoints(sql, schema, range, present),
    built(breakerVerbs(sql, schema).breakers({ limit: MOST_GROUPS })),
    built(groupVerbs(sql, schema).groups({ state: 'open', isPending: true, limit: MOST_GROUPS })),
    built(bulkVerbs(sql, schema).bulks({ state: 'paused', limit: MOST_GROUPS })),
    listAudit(sql, schema, { limit: LAST_CHANGES }),
  ]);
  const handlers = overviewsOf(records, present);
  const open = breakers.items.filter(({ state }) => state !== 'closed');
  const facts: AttentionFacts = {
    ...factsOf(present),
    handlers,
    breakers: open,
    groups: groups.items,
    hasMoreGroups: groups.next !== undefined,
    pausedBulks: bulks.items,
  };
  const attention = attentionOf(facts);
  const ages = handlers.flatMap(({ oldestMs }) => oldestMs ?? []);
  return {
    at: new Date(present.nowMs),
    verdict: verdictOf(attention, ages.length === 0 ? undefined : Math.max(...ages)),
    attention,
    range,
    stepMs: OVERVIEW_STEPS[range].stepMs,
    points,
    handlers,
    breakers: open,
    audit: audit.items,
  };
}

function factsOf(
  present: Present,
): Pick<
  AttentionFacts,
  'isPaused' | 'workers' | 'heldKeys' | 'withoutHandler' | 'isFull' | 'sampledMsAgo' | 'aliveMs'
> {
  const { isPaused, workers, heldKeys, last, nowMs, aliveMs } = present;
  return {
    isPaused,
    workers,
    heldKeys,
    withoutHandler: (last?.unserved ?? []).flatMap(({ type, count }) => (type === undefined ? [] : [{ type, count }])),
    isFull: last?.isFull ?? false,
    sampledMsAgo: last === null ? undefined : nowMs - last.ms,
    aliveMs: aliveMs ?? undefined,
  };
}

/** A page of what a colleague's part does not answer yet. */
async function built<T>(page: Promise<Page<T>>): Promise<Page<T>> {
  return page.catch((error: unknown) => {
    if (error instanceof Error && error.message === 'not built yet') return { items: [], next: undefined };
    throw error;
  });
}

/** One that registered between the two answers has its numbers the next time. */
function overviewsOf(records: readonly HandlerRecord[], present: Present): readonly HandlerOverview[] {
  const numbers = present.handlers.map((fields) => readRecord<HandlerNumbers>(fields, []));
  return records.flatMap((record) => {
    const own = numbers.find(({ service, handler }) => service === record.service && handler === record.handler);
    return own === undefined ? [] : [{ ...record, ...own }];
  });
}

/**
 * What is open is counted unit by unit, by the index of the line, and no further than `CAP`; the oldest is at the head of one of the
 * units. Rates are of the minutes of the last five.
 */
function presentStatement(schema: string): string {
  const units = `(select l.id * m.units + b as unit from ${schema}.lane l, ${schema}.meta m, generate_series(0, m.units - 1) b where l.handler = h.id) u`;
  const count = (state: number): string => `(select count(*) from (
      select from ${units} cross join lateral (select from ${schema}.delivery d where d.unit = u.unit and d.state = ${state} limit ${CAP}) d
      limit ${CAP}) c)`;
  return `with recent as materialized (
      select t.handler, sum(t.done) as done, sum(t.retried + t.dead) as failed from ${schema}.tally t
      where t.at > clock_timestamp() - interval '5 minutes' group by t.handler),
    live as materialized (select * from ${schema}.worker w where w.expires_at > clock_timestamp())
    select json_build_object('nowMs', floor(extract(epoch from clock_timestamp()) * 1000), 'sent', ${sentSoFar(schema)},
      'isPaused', m.is_paused, 'workers', (select count(*) from live),
      'aliveMs', (select floor(extract(epoch from clock_timestamp() - min(w.joined_at)) * 1000) from live w),
      'heldKeys', (select count(*) from (select distinct d.unit, d.key from ${schema}.delivery d
        where d.holds and d.key is not null and d.state = 2 limit ${CAP}) k),
      'last', (select json_build_object('ms', floor(extract(epoch from s.at) * 1000), 'isFull', s.is_full, 'unserved', s.unserved)
        from ${schema}.sample s order by s.minute desc limit 1),
      'handlers', coalesce((select json_agg(json_build_object('service', h.service, 'handler', h.name,
          'pending', ${count(0)}, 'waiting', ${count(1)}, 'failed', ${count(2)},
          'oldestMs', (select floor(extract(epoch from clock_timestamp() - min(d.created_at)) * 1000) from ${units}
            cross join lateral (select d.created_at from ${schema}.delivery d where d.unit = u.unit and d.state = 0 order by d.seq limit 1) d),
          'donePerSecond', coalesce(r.done, 0) / 300.0,
          'errorShare', r.failed::float8 / nullif(r.done + r.failed, 0)) order by h.service, h.name)
        from ${schema}.handler h left join recent r on r.handler = h.id), '[]'))::text as row
    from ${schema}.meta m`;
}

async function readPoints(
  sql: SqlRunner,
  schema: string,
  range: OverviewRange,
  { nowMs, sent }: Present,
): Promise<Overview['points']> {
  const { stepMs } = OVERVIEW_STEPS[range];
  const startMs = rangeStartMs(range, nowMs);
  const [row] = await sql.query(pointsStatement(schema), [startMs, stepMs]);
  const { tallies, samples } = readJson(row, 'row') as {
    readonly tallies: readonly StepTally[];
    readonly samples: readonly Fields[];
  };
  const seen = samples.map((sample) => readRecord<Sample>(sample, []));
  return overviewPoints(range, { ms: nowMs, sent }, tallies, seen);
}

/** By step: what was done, and what was seen last; and what was seen last before the range. */
function pointsStatement(schema: string): string {
  const step = (time: string): string =>
    `floor(extract(epoch from ${time}) * 1000 / $2::text::float8)::bigint * $2::text::bigint`;
  const start = `to_timestamp($1::text::float8 / 1000)`;
  const sample = `json_build_object('atMs', floor(extract(epoch from s.at) * 1000), 'sent', s.sent, 'pending', s.pending, 'oldestMs', s.oldest_ms)`;
  return `select json_build_object(
      'tallies', coalesce((select json_agg(json_build_object('atMs', t.ms, 'done', t.done, 'retried', t.retried, 'dead', t.dead,
          'suppressed', t.suppressed, 'refused', t.refused))
        from (select ${step('at')} as ms, sum(done) as done, sum(retried) as retried, sum(dead) as dead,
            sum(suppressed) as suppressed, sum(refused) as refused
          from ${schema}.tally where at >= ${start} group by 1) t), '[]'),
      'samples', coalesce((select json_agg(s.row order by s.minute) from (
        (select s.minute, ${sample} as row from ${schema}.sample s where s.minute < ${start} order by s.minute desc limit 1)
        union all
        (select distinct on (${step('s.minute')}) s.minute, ${sample} from ${schema}.sample s where s.minute >= ${start}
          order by ${step('s.minute')}, s.minute desc)) s), '[]'))::text as row`;
}
