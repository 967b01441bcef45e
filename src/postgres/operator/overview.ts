import { OptionCheck } from '../../kernel/check-options.ts';
import { attentionOf, type AttentionFacts, verdictOf } from '../../operator/attention.ts';
import {
  OVERVIEW_STEPS,
  overviewPoints,
  rangeStartMs,
  type Sample,
  type StepTally,
} from '../../operator/overview-points.ts';
import { type Overview, OVERVIEW_RANGES, type OverviewRange } from '../../operator/overview.ts';
import type { SqlRunner } from '../sql-runner.ts';
import { listAudit } from './audit-list.ts';
import { breakerVerbs } from './breaker-verbs.ts';
import { bulkVerbs } from './bulk-verbs.ts';
import { groupVerbs } from './group-verbs.ts';
import { type Present, readPresent } from './overview-present.ts';
import { type Fields, readJson, readRecord } from './read-record.ts';

const MOST_GROUPS = 100;
const LAST_CHANGES = 10;

/** Is anything lost or late, and what needs somebody. */
export async function readOverview(sql: SqlRunner, schema: string, range: OverviewRange): Promise<Overview> {
  const check = new OptionCheck('overview()');
  check.word('range', range, OVERVIEW_RANGES);
  check.done();
  const present = await readPresent(sql, schema);
  // One after the other: what was handed in may be one connection.
  const points = await readPoints(sql, schema, range, present);
  const breakers = await breakerVerbs(sql, schema).breakers({ limit: MOST_GROUPS });
  const groups = await groupVerbs(sql, schema).groups({ state: 'open', isPending: true, limit: MOST_GROUPS });
  const bulks = await bulkVerbs(sql, schema).bulks({ state: 'paused', limit: MOST_GROUPS });
  const audit = await listAudit(sql, schema, { limit: LAST_CHANGES });
  const { handlers } = present;
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
  'isPaused' | 'workers' | 'heldKeys' | 'destinations' | 'withoutHandler' | 'isFull' | 'sampledMsAgo' | 'aliveMs'
> {
  const { isPaused, workers, heldKeys, destinations, last, nowMs, aliveMs } = present;
  return {
    isPaused,
    workers,
    heldKeys,
    destinations,
    withoutHandler: (last?.unserved ?? []).flatMap(({ type, count }) => (type ? [{ type, count }] : [])),
    isFull: last?.isFull ?? false,
    sampledMsAgo: last && nowMs - last.ms,
    aliveMs,
  };
}

async function readPoints(
  sql: SqlRunner,
  schema: string,
  range: OverviewRange,
  { nowMs, sent }: Present,
): Promise<Overview['points']> {
  const { stepMs } = OVERVIEW_STEPS[range];
  const startMs = rangeStartMs(range, nowMs);
  const [row] = await sql.query(`select ${schema}.overview_points($1::text::float8, $2::text::bigint) as row`, [
    startMs,
    stepMs,
  ]);
  const { tallies, samples } = readJson(row, 'row') as {
    readonly tallies: readonly StepTally[];
    readonly samples: readonly Fields[];
  };
  const seen = samples.map((sample) => readRecord<Sample>(sample, []));
  return overviewPoints(range, { ms: nowMs, sent }, tallies, seen);
}
