import type { DrillRun } from '../drills/drill-run.ts';
import type { LedgerCounts } from '../drills/ledger.ts';
import type { SenderNews } from './child-line.ts';
import type { Replays } from './mended.ts';
import type { Site } from './site.ts';
import { HANDLERS } from './step.ts';

/** What the database cannot tell. */
export interface JudgeInput {
  readonly news: SenderNews;
  readonly replays: Replays;
  /** How many were to be sent at least. */
  readonly wanted: number;
}

/** Compares what was sent with what came of it, and writes down both. */
export async function judge(site: Site, run: DrillRun, { news, replays, wanted }: JudgeInput): Promise<LedgerCounts> {
  const { database, crew, sender } = site;
  const counted = await database.counts(['poison']);
  const missing = await database.missingOf(sender.reached);
  const fallen = crew.fallen;
  const atLeast = { expected: `at least ${wanted}`, seen: counted.sent, held: counted.sent >= wanted };
  run.judge('messages sent', atLeast);
  run.check('acknowledged writes that are not there', 0, missing);
  run.check('effects lost', 0, counted.lost);
  run.check('second effects', 0, counted.second);
  run.check('effects of what was never sent', 0, counted.invented);
  run.check('order violations', 0, counted.outOfOrder);
  run.check('dead letters', counted.deadWanted, counted.dead);
  run.check('dead letters that are no poison', 0, counted.deadStrange);
  run.check('poison that is no dead letter', 0, counted.deadMissing);
  run.check('workers that ended by themselves', 'none', fallen.length === 0 ? 'none' : fallen.join('; '));
  return {
    sent: counted.sent,
    acknowledged: news.acknowledged,
    effects: counted.effects,
    expectedEffects: counted.sent * HANDLERS.length - counted.deadWanted,
    suppressed: {
      sends: news.duplicates,
      arrivals: await database.arrivalsAgain(),
      lateResults: crew.count('refused'),
      replays: replays.refused,
    },
    secondEffects: counted.second,
    lost: counted.lost,
    invented: counted.invented,
    orderViolations: counted.outOfOrder,
    deadLetters: counted.dead,
    poison: counted.deadWanted,
    rolledBack: news.rolledBack,
  };
}
