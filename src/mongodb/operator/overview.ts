import { OptionCheck } from '../../kernel/check-options.ts';
import { attentionOf, verdictOf } from '../../operator/attention.ts';
import { OVERVIEW_STEPS } from '../../operator/overview-points.ts';
import { type HandlerOverview, type Overview, OVERVIEW_RANGES, type OverviewRange } from '../../operator/overview.ts';
import { listAudit } from './audit-log.ts';
import { recentGroups } from './groups.ts';
import { ownersOf } from './live-owners.ts';
import { countHeldKeys, countRows, handlerRecord, oldestMs, withoutTaker } from './numbers.ts';
import { type KnownHandler, knownHandlers, type OperatorParts, serverTime } from './operator-parts.ts';

const OPEN_CAP = 10_000;
const DEAD_CAP = 100_000;
const MOST_GROUPS = 100;
const HELD_CAP = 1_000;
const LAST_CHANGES = 10;
/** The rate is that of the last ended rows, so many at most, within this time. */
const RATE_ROWS = 1_000;
const RATE_MS = 300_000;

/** Is anything lost or late, and what needs somebody. There are no points of time: no history of numbers is kept in MongoDB. */
export async function readOverview(parts: OperatorParts, range: OverviewRange): Promise<Overview> {
  const check = new OptionCheck('overview()');
  check.word('range', range, OVERVIEW_RANGES);
  check.done();
  const at = await serverTime(parts);
  const owners = await ownersOf(parts);
  const known = await knownHandlers(parts);
  const rates = await ratesOf(parts, at);
  const handlers: HandlerOverview[] = [];
  const unknown: { readonly type: string; readonly count: number }[] = [];
  let heldKeys = 0;
  for (const one of known) {
    handlers.push({
      ...handlerRecord(one, owners),
      pending: await countRows(one, 'open', OPEN_CAP),
      waiting: await countRows(one, 'waiting', OPEN_CAP),
      failed: await countRows(one, 'dead', DEAD_CAP),
      oldestMs: await oldestMs(one, at),
      donePerSecond: rates.get(one.id) ?? 0,
      errorShare: undefined,
    });
    heldKeys += await countHeldKeys(one, ['dead'], HELD_CAP);
    unknown.push(...(await withoutTaker(one)));
  }
  const groups = await recentGroups(parts);
  const attention = attentionOf({
    isPaused: false,
    workers: owners.size,
    handlers,
    breakers: [],
    destinations: [],
    groups: groups.slice(0, MOST_GROUPS),
    hasMoreGroups: groups.length > MOST_GROUPS,
    heldKeys,
    withoutHandler: unknown,
    isFull: false,
    pausedBulks: [],
    sampledMsAgo: undefined,
    aliveMs: undefined,
  });
  const ages = handlers.flatMap((one) => one.oldestMs ?? []);
  return {
    at,
    verdict: verdictOf(attention, ages.length === 0 ? undefined : Math.max(...ages)),
    attention,
    range,
    stepMs: OVERVIEW_STEPS[range].stepMs,
    points: [],
    handlers,
    breakers: [],
    audit: (await listAudit(parts, { limit: LAST_CHANGES })).items,
  };
}

/** How many a second each handler has done of late, by its id. */
async function ratesOf({ boxes }: OperatorParts, at: Date): Promise<ReadonlyMap<KnownHandler['id'], number>> {
  const rates = new Map<string, number>();
  const since = new Date(at.getTime() - RATE_MS);
  for (const { rows } of boxes) {
    const ended = await rows
      .find({ endedAt: { $gte: since } }, { projection: { service: 1, state: 1, endedAt: 1 } })
      .sort({ endedAt: -1 })
      .limit(RATE_ROWS)
      .toArray();
    const oldest = ended.length === RATE_ROWS ? ended.at(-1)?.endedAt : since;
    const seconds = Math.max(1, (at.getTime() - (oldest ?? since).getTime()) / 1_000);
    const done = Map.groupBy(
      ended.filter(({ state }) => state === 'done'),
      ({ service }) => `${rows.collectionName}:${service}`,
    );
    for (const [id, ofHandler] of done) rates.set(id, ofHandler.length / seconds);
  }
  return rates;
}
