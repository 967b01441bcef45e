import { settleDown, type BenchDatabase } from './bench-database.ts';
import { listRates, median, perSecond, type Bench, type Finding, type Rates } from './finding.ts';
import { graphileQueue } from './graphile-queue.ts';
import { handWrittenQueue } from './hand-written-queue.ts';
import { holdfastQueue } from './holdfast-queue.ts';
import { pgBossQueue } from './pg-boss-queue.ts';
import type { Queue, Work } from './queue.ts';

const ROUNDS = 3;

/** Messages that do nothing, handled by one process. */
export async function drainNothing(bench: Bench): Promise<Finding[]> {
  const count = bench.isQuick ? 10_000 : 60_000;
  const rates = await compete(bench, fillThenDrain('nothing', count), ALL);
  return [
    finding(`drain of ${count} no-ops`, rates, peers(rates), 3),
    finding('… against hand-written SQL', rates, floor(rates), 0.5),
  ];
}

/** Messages with one inserted row each: ours in the commit of the completion, the peers' at least once. */
export async function drainEffect(bench: Bench): Promise<Finding[]> {
  const count = bench.isQuick ? 3_000 : 20_000;
  const rates = await compete(bench, fillThenDrain('effect', count), [holdfastQueue, graphileQueue, pgBossQueue]);
  return [finding(`drain of ${count} with an effect`, rates, peers(rates), 2)];
}

/** The same with one insert for as many messages as the queue hands out at once. */
export async function drainEffects(bench: Bench): Promise<Finding[]> {
  const count = bench.isQuick ? 5_000 : 60_000;
  const rates = await compete(bench, fillThenDrain('effects', count), [holdfastQueue, graphileQueue, pgBossQueue]);
  return [finding(`drain of ${count} with an effect, in batches`, rates, peers(rates), 2)];
}

/** Storing messages in bulks of 1,000. */
export async function bulkSend(bench: Bench): Promise<Finding[]> {
  const count = bench.isQuick ? 10_000 : 100_000;
  const timedFill: Trial = async (queue) => {
    const startedMs = performance.now();
    await queue.fill(count, 'nothing');
    return (count / (performance.now() - startedMs)) * 1_000;
  };
  const rates = await compete(bench, timedFill, ALL);
  return [
    finding(`bulk send of ${count}`, rates, peers(rates), 2),
    finding('… against hand-written SQL', rates, floor(rates), undefined),
  ];
}

function finding(measure: string, rates: Rates, others: Rates, goal: number | undefined): Finding {
  const ratio = ours(rates) / best(others);
  const shared = { measure, ours: perSecond(ours(rates)), others: listRates(others), ratio };
  if (goal === undefined) return { ...shared, goal: '' };
  return { ...shared, goal: goal < 1 ? `≥ ${goal * 100} %` : `≥ ${goal} × the best`, isReached: ratio >= goal };
}

const ours = (rates: Rates): number => rates.get('holdfast') ?? Number.NaN;
const best = (rates: Rates): number => Math.max(...rates.values());
const isFloor = (name: string): boolean => name.startsWith('hand-written');
const peers = (rates: Rates): Rates => new Map([...rates].filter(([name]) => name !== 'holdfast' && !isFloor(name)));
const floor = (rates: Rates): Rates => new Map([...rates].filter(([name]) => isFloor(name)));

/** Messages per second of one contestant, in one round. */
type Trial = (queue: Queue, database: BenchDatabase) => Promise<number>;

const ALL = [holdfastQueue, graphileQueue, pgBossQueue, handWrittenQueue];

export function fillThenDrain(work: Work, count: number): Trial {
  return async (queue, database) => {
    await queue.fill(count, work);
    await settleDown(database);
    return (count / (await queue.drain(count, work))) * 1_000;
  };
}

/** The contestants in turning order, so that a noisy disk favours nobody; medians of the rounds, after one to warm up. */
export async function compete(
  { database, say }: Bench,
  trial: Trial,
  makers: readonly ((database: BenchDatabase) => Promise<Queue>)[],
): Promise<Rates> {
  const queues: Queue[] = [];
  for (const make of makers) queues.push(await make(database));
  const samples = new Map(queues.map(({ name }): [string, number[]] => [name, []]));
  for (let round = 0; round <= ROUNDS; round++) {
    for (const queue of [...queues.slice(round % queues.length), ...queues.slice(0, round % queues.length)]) {
      await settleDown(database);
      const rate = await trial(queue, database);
      await queue.clear();
      say(`  ${round === 0 ? 'warm-up' : `round ${round}`}: ${queue.name} ${perSecond(rate)}`);
      if (round > 0) samples.get(queue.name)?.push(rate);
    }
  }
  for (const queue of queues) await queue.close();
  return new Map([...samples].map(([name, rates]) => [name, median(rates)]));
}
