import { contestantOf, type Rounds } from '../result/contestant.ts';
import { perSecond } from '../result/format.ts';
import { judge } from '../result/judge.ts';
import type { Contestant, Result, Verdict } from '../result/result.ts';
import type { Bench } from './bench.ts';
import { settleDown, type BenchDatabase } from './bench-database.ts';
import { graphileQueue } from './graphile-queue.ts';
import { handWrittenQueue } from './hand-written-queue.ts';
import { holdfastQueue } from './holdfast-queue.ts';
import { pgBossQueue } from './pg-boss-queue.ts';
import type { Queue, Work } from './queue.ts';

const ROUNDS = 3;

/** Messages that do nothing, handled by one process. */
export async function drainNothing(bench: Bench): Promise<Result[]> {
  const count = bench.isQuick ? 5_000 : 60_000;
  const contestants = await compete(bench, fillThenDrain('nothing', count), [...PRODUCTS, handWrittenQueue]);
  return [
    {
      id: 'drain',
      measure: `drain of ${count.toLocaleString('en')} messages that do nothing, one process`,
      contestants,
      verdicts: [against(contestants, 'peer', 3), against(contestants, 'bare', 0.5)],
      note: 'Ours keeps order within a key and a history; the hand-written statements have a shard lease, fenced batches and a history, and nothing else.',
    },
  ];
}

/** Messages with one inserted row each: ours in the commit of the completion, the peers' at least once. */
export async function drainEffect(bench: Bench): Promise<Result[]> {
  const count = bench.isQuick ? 1_000 : 20_000;
  const contestants = await compete(bench, fillThenDrain('effect', count), PRODUCTS);
  return [
    {
      id: 'effect',
      measure: `drain of ${count.toLocaleString('en')} messages with one insert each`,
      contestants,
      verdicts: [against(contestants, 'peer', 2)],
      note: 'Ours has the insert in the commit of the completion, exactly once; the peers do it at least once.',
    },
  ];
}

/** The same with one insert for as many messages as the queue hands out at once. */
export async function drainEffects(bench: Bench): Promise<Result[]> {
  const count = bench.isQuick ? 2_000 : 60_000;
  const contestants = await compete(bench, fillThenDrain('effects', count), PRODUCTS);
  return [
    {
      id: 'effects',
      measure: `drain of ${count.toLocaleString('en')} messages with one insert for many`,
      contestants,
      verdicts: [against(contestants, 'peer', 2)],
      note: 'Ours by `projectAll`, exactly once; pg-boss for its batches of 500; graphile-worker hands out jobs one by one, so it has an insert for each.',
    },
  ];
}

/** Storing messages in bulks of 1,000. */
export async function bulkSend(bench: Bench): Promise<Result[]> {
  const count = bench.isQuick ? 5_000 : 100_000;
  const timedFill: Trial = async (queue) => {
    const startedMs = performance.now();
    await queue.fill(count, 'nothing');
    return (count / (performance.now() - startedMs)) * 1_000;
  };
  const contestants = await compete(bench, timedFill, [...PRODUCTS, handWrittenQueue]);
  return [
    {
      id: 'bulk-send',
      measure: `sending ${count.toLocaleString('en')} messages, a thousand in a statement`,
      contestants,
      verdicts: [against(contestants, 'peer', 2), against(contestants, 'bare')],
    },
  ];
}

/** Ours against the best of those with that role. */
function against(contestants: readonly Contestant[], role: 'peer' | 'bare', goal?: number): Verdict {
  const ours = contestants.find((one) => one.role === 'ours');
  if (ours === undefined) throw new Error('there is none of ours');
  return judge(
    ours,
    contestants.filter((one) => one.role === role),
    goal,
  );
}

/** Messages per second of one contestant, in one round. */
type Trial = (queue: Queue, database: BenchDatabase) => Promise<number>;

/** Opens one of those that are compared. */
export type QueueMaker = (database: BenchDatabase) => Promise<Queue>;

/** Us, and the packages that do the same work. */
export const PRODUCTS: readonly QueueMaker[] = [holdfastQueue, graphileQueue, pgBossQueue];

export function fillThenDrain(work: Work, count: number): Trial {
  return async (queue, database) => {
    await queue.fill(count, work);
    await settleDown(database);
    return (count / (await queue.drain(count, work))) * 1_000;
  };
}

/** The contestants in turning order, so that a noisy disk favours nobody, after a round to warm up. */
export async function compete(
  { database, isQuick, say }: Bench,
  trial: Trial,
  makers: readonly QueueMaker[],
  { rounds = isQuick ? 1 : ROUNDS, at }: { readonly rounds?: number; readonly at?: number | string } = {},
): Promise<Contestant[]> {
  const queues: Queue[] = [];
  for (const make of makers) queues.push(await make(database));
  const samples = new Map(queues.map((queue): [Queue, number[]] => [queue, []]));
  for (let round = 0; round <= rounds; round++) {
    for (const queue of [...queues.slice(round % queues.length), ...queues.slice(0, round % queues.length)]) {
      await settleDown(database);
      const rate = await trial(queue, database);
      await queue.clear();
      say(`  ${round === 0 ? 'warm-up' : `round ${round}`}: ${queue.name} ${perSecond(rate)}`);
      if (round > 0) samples.get(queue)?.push(rate);
    }
  }
  for (const queue of queues) await queue.close();
  return [...samples].map(([{ name, role }, found]) => {
    const all: Rounds = { name, role, rounds: found };
    return contestantOf(at === undefined ? all : { ...all, at });
  });
}
