import { Client, type Pool } from 'pg';
import { migrate } from 'holdfast/postgres';
import { type BenchDatabase, poolOn, settleDown } from '../engine/bench-database.ts';
import { orders } from '../engine/queue.ts';
import { contestantOf } from '../result/contestant.ts';
import { perSecond } from '../result/format.ts';
import { judgeByRound } from '../result/judge.ts';
import type { Contestant, Result } from '../result/result.ts';
import {
  acknowledgeBare,
  bareMessages,
  consumeByHand,
  fillHandOutbox,
  publishBare,
  relayByHand,
  TABLES,
} from './by-hand.ts';
import { consumeOurs, type Effects, fillOutbox, prepareRelay, relayOurs } from './ours.ts';
import type { Side } from './side.ts';

/** How much is measured. */
export interface Size {
  /** Messages of one round of one contestant. */
  readonly count: number;
  /** After one to warm up. */
  readonly rounds: number;
}

interface Bench {
  /** As it is asked for. */
  readonly name: string;
  readonly side: Side;
  readonly database: BenchDatabase;
  readonly size: Size;
  readonly say: (line: string) => void;
}

const GOAL = 0.6;
/** Who is compared: ours, the same work by hand, and what nobody can do without losing or repeating something. */
type Way = 'holdfast' | 'by hand' | 'no database';
/** Milliseconds for all messages of a round. */
type Trial = (prefix: string) => Promise<number>;

/** All measures of one broker. */
export async function measureSide(bench: Bench): Promise<Result[]> {
  const { database } = bench;
  const client = new Client({ connectionString: database.url });
  await client.connect();
  await migrate(client);
  await client.query(TABLES);
  await client.end();
  const pool = poolOn(database.url, 20);
  try {
    return [
      await measure(bench, 'relay', 'relay', relayTrials(bench, pool)),
      await measure(bench, 'each', 'consume, an effect for each', consumeTrials(bench, pool, 'each')),
      await measure(bench, 'many', 'consume, one statement for all effects', consumeTrials(bench, pool, 'many')),
    ];
  } finally {
    await pool.end();
  }
}

function relayTrials({ side, database, size: { count } }: Bench, pool: Pool): ReadonlyMap<Way, Trial> {
  return new Map<Way, Trial>([
    [
      'holdfast',
      async (prefix) => {
        const transport = side.transport(prefix);
        await prepareRelay(pool, transport);
        await fillOutbox(pool, transport, count);
        await settleDown(database);
        const tookMs = await relayOurs(pool, transport, count);
        await transport.close();
        await check(side, prefix, count);
        return tookMs;
      },
    ],
    [
      'by hand',
      async (prefix) => {
        await fillHandOutbox(pool, count);
        await settleDown(database);
        const publisher = await side.publisher(prefix);
        const tookMs = await relayByHand(pool, publisher, count);
        await publisher.close();
        await check(side, prefix, count);
        return tookMs;
      },
    ],
    [
      'no database',
      async (prefix) => {
        const publisher = await side.publisher(prefix);
        const tookMs = await publishBare(publisher, bareMessages(orders(0, count)));
        await publisher.close();
        await check(side, prefix, count);
        return tookMs;
      },
    ],
  ]);
}

async function check(side: Side, prefix: string, count: number): Promise<void> {
  const found = await side.count(prefix);
  if (found !== count) throw new Error(`${found} of ${count} messages are at ${side.title}`);
}

function consumeTrials(
  { side, database, size: { count } }: Bench,
  pool: Pool,
  effects: Effects,
): ReadonlyMap<Way, Trial> {
  const filled = async (prefix: string): Promise<void> => {
    const publisher = await side.publisher(prefix);
    await publishBare(publisher, bareMessages(orders(0, count)));
    await publisher.close();
    await settleDown(database);
  };
  const trials = new Map<Way, Trial>([
    [
      'holdfast',
      async (prefix) => {
        await filled(prefix);
        const transport = side.transport(prefix);
        const endedMs = await consumeOurs(pool, transport, count, effects);
        await transport.close();
        await checkEffects(pool, count);
        return endedMs - (await firstStoredMs(pool, 'holdfast'));
      },
    ],
    [
      'by hand',
      async (prefix) => {
        await filled(prefix);
        const endedMs = await consumeByHand(pool, side, prefix, count, effects);
        await checkEffects(pool, count);
        return endedMs - (await firstStoredMs(pool, 'hand'));
      },
    ],
  ]);
  if (effects === 'each') return trials;
  return trials.set('no database', async (prefix) => {
    await filled(prefix);
    return acknowledgeBare(side, prefix, count);
  });
}

/** When the first batch was on its way into the inbox. */
async function firstStoredMs(pool: Pool, schema: 'holdfast' | 'hand'): Promise<number> {
  const { rows } = await pool.query<{ ms: string }>(
    `select extract(epoch from min(first_at)) * 1000 as ms from ${schema}.inbox`,
  );
  return Number(rows[0]?.ms);
}

async function checkEffects(pool: Pool, count: number): Promise<void> {
  const { rows } = await pool.query<{ all: number; different: number }>(
    'select count(*)::int as all, count(distinct total)::int as different from effect',
  );
  const [found] = rows;
  if (found?.all !== count || found.different !== count)
    throw new Error(`${found?.all} effects of ${found?.different} messages, and not of ${count}`);
}

/** The contestants in turning order, so that a noisy machine favours nobody, after a round to warm up. */
async function measure(bench: Bench, id: string, measured: string, trials: ReadonlyMap<Way, Trial>): Promise<Result> {
  const { name: broker, side, database, size, say } = bench;
  say(`${side.title}: ${measured}`);
  const rates = new Map([...trials.keys()].map((name): [Way, number[]] => [name, []]));
  for (let round = 0; round <= size.rounds; round++) {
    const turn = round % trials.size;
    const inTurn = [...trials];
    for (const [name, trial] of [...inTurn.slice(turn), ...inTurn.slice(0, turn)]) {
      const prefix = `bench-${process.pid}-${places++}-`;
      await side.prepare(prefix);
      await database.admin.query(
        'truncate holdfast.delivery, holdfast.delivered, holdfast.inbox, hand.outbox, hand.inbox',
      );
      await settleDown(database);
      const rate = (size.count / (await trial(prefix))) * 1_000;
      await side.drop(prefix);
      say(`  ${round === 0 ? 'warm-up' : `round ${round}`}: ${name} ${perSecond(rate)}`);
      if (round > 0) rates.get(name)?.push(rate);
    }
  }
  return { id: `${broker}.${id}`, measure: `${side.title}: ${measured}`, ...judged(rates) };
}

let places = 0;

function judged(rates: ReadonlyMap<Way, readonly number[]>): Pick<Result, 'contestants' | 'verdicts'> {
  const contestants = [...rates].map(([name, rounds]) =>
    contestantOf({ name, role: name === 'holdfast' ? 'ours' : 'bare', rounds }),
  );
  const ours = rates.get('holdfast') ?? [];
  const bare = contestants.filter(({ role }: Contestant) => role === 'bare');
  return {
    contestants,
    verdicts: bare.map((other) =>
      judgeByRound(ours, other, rates.get(other.name as Way) ?? [], other.name === 'by hand' ? GOAL : undefined),
    ),
  };
}
