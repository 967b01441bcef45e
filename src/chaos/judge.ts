import type { DrillRun } from '../drills/drill-run.ts';
import type { LedgerCounts, LedgerHttp } from '../drills/ledger.ts';
import type { SenderNews } from './child-line.ts';
import type { DrillCounts } from './drill-database.ts';
import type { Replays } from './mended.ts';
import type { Site } from './site.ts';
import { HANDLERS } from './step.ts';

/** What the database cannot tell. */
export interface JudgeInput {
  readonly news: SenderNews;
  readonly replays: Replays;
  /** How many were to be sent at least. */
  readonly wanted: number;
  /** What the front was seen to do; absent where there is none. */
  readonly front: FrontSeen | undefined;
}

/** What the database cannot tell of the front. */
export interface FrontSeen {
  /** Keys that were posted once more at the end, and how many of those posts were answered. */
  readonly accepted: number;
  readonly audited: number;
  /** Answers that came from Redis before its last fault was put right. */
  readonly fromRedisBefore: number;
}

/** Compares what was sent with what came of it, and writes down both. */
export async function judge(site: Site, run: DrillRun, input: JudgeInput): Promise<LedgerCounts> {
  const { news, replays, wanted, front } = input;
  const { database, crew, sender } = site;
  const counted = await database.counts(['poison']);
  const missing = await database.missingOf(sender.reached);
  const fallen = [...crew.fallen, ...(site.relays?.fallen ?? []), ...(site.front?.apis.fallen ?? [])];
  const atLeast = { expected: `at least ${wanted}`, seen: counted.sent, held: counted.sent >= wanted };
  run.judge('messages sent', atLeast);
  run.check('acknowledged writes that are not there', 0, missing);
  run.check('second rows of one write', 0, counted.secondRows);
  run.check('rows without a message', 0, counted.messageless);
  run.check('messages without a row', 0, counted.rowless);
  const http = front && judgeHttp(run, counted, news, front);
  run.check('effects lost', 0, counted.lost);
  run.check('second effects', 0, counted.second);
  run.check('effects of what was never sent', 0, counted.invented);
  run.check('order violations', 0, counted.outOfOrder);
  run.check('dead letters', counted.deadWanted, counted.dead);
  run.check('dead letters that are no poison', 0, counted.deadStrange);
  run.check('poison that is no dead letter', 0, counted.deadMissing);
  run.check('processes that ended by themselves', 'none', fallen.length === 0 ? 'none' : fallen.join('; '));
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
    http,
  };
}

/** What clients saw beside what the database has. */
function judgeHttp(
  run: DrillRun,
  counted: DrillCounts,
  { acknowledged, http }: SenderNews,
  { accepted, audited, fromRedisBefore }: FrontSeen,
): LedgerHttp {
  const { posts = 0, fromRedis = 0, fromDatabase = 0, refused = 0, lost = 0, different = 0 } = http ?? {};
  run.check('rows of accepted writes', acknowledged, counted.sent);
  run.check('messages of accepted writes', acknowledged, counted.messages);
  run.check('replies that differ from the first to their key', 0, different);
  run.check('accepted keys answered once more at the end', accepted, audited);
  const after = fromRedis - fromRedisBefore;
  run.judge('replies from Redis after its last fault', { expected: 'at least 1', seen: after, held: after > 0 });
  const { sent: rows, messages, secondRows } = counted;
  return {
    posts,
    rows,
    messages,
    secondRows,
    fromRedis,
    fromDatabase,
    refused,
    lost,
    different,
    audited,
  };
}
