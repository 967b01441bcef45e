import { poolOn, settleDown } from './bench-database.ts';
import { median, perSecond, type Bench, type Finding } from './finding.ts';
import { clearHoldfast, fillHoldfast, holdfastQueue } from './holdfast-queue.ts';
import { untilTrue, type Queue } from './queue.ts';
import { startWorker } from './worker-child.ts';

const MAX_MB = 250;

/** What a long backlog and a long history cost, and the memory of a worker with that backlog. */
export async function backlog(bench: Bench): Promise<Finding[]> {
  const { database, isQuick, say } = bench;
  const [small, middle, large] = isQuick ? [2_000, 5_000, 50_000] : [10_000, 60_000, 1_000_000];
  const queue = await holdfastQueue(database);
  const pool = poolOn(database.url, 4);
  const rateAt = (count: number, rounds: number): Promise<number> => medianRate(bench, queue, count, rounds);

  await rateAt(middle, 1);
  await queue.clear();
  const rateSmall = await rateAt(small, 9);
  await queue.clear();
  const rateFresh = await rateAt(middle, 3);
  await clearHoldfast(pool);
  say(`  a backlog of ${small}: ${perSecond(rateSmall)}; ${middle} without history: ${perSecond(rateFresh)}`);

  await fillHoldfast(pool, large, 'nothing');
  await settleDown(database);
  const memory = await memoryOfWorker(bench, large);
  const left = Number((await pool.query('select count(*) from holdfast.delivery')).rows[0].count);
  const rateLarge = (left / (await queue.drain(left, 'nothing'))) * 1_000;
  say(`  a backlog of ${left}: ${perSecond(rateLarge)}`);
  const rateKept = await rateAt(middle, 3);
  const kept = Number((await pool.query('select count(*) from holdfast.delivered')).rows[0].count);
  await queue.clear();
  await queue.close();
  await pool.end();
  return [
    compared(`backlog of ${large} against ${small}`, rateLarge, rateSmall),
    compared(`${kept} delivered rows kept, against none`, rateKept, rateFresh),
    {
      measure: `memory of a worker, backlog of ${large}`,
      ours: `${memory.toFixed(0)} MB`,
      others: '',
      goal: `< ${MAX_MB} MB`,
      isReached: memory < MAX_MB,
    },
  ];
}

function compared(measure: string, ours: number, others: number): Finding {
  const ratio = ours / others;
  return { measure, ours: perSecond(ours), others: perSecond(others), ratio, goal: '≥ 80 %', isReached: ratio >= 0.8 };
}

async function medianRate({ database }: Bench, queue: Queue, count: number, rounds: number): Promise<number> {
  const rates: number[] = [];
  for (let round = 0; round < rounds; round++) {
    await queue.fill(count, 'nothing');
    await settleDown(database);
    rates.push((count / (await queue.drain(count, 'nothing'))) * 1_000);
  }
  return median(rates);
}

/** The greatest resident memory, in MB, of a worker that handles the first fifth of the backlog. */
async function memoryOfWorker({ database, say }: Bench, large: number): Promise<number> {
  const worker = startWorker(database);
  await untilTrue(async () => worker.last.started >= large / 5);
  const { started, maxRssMb } = await worker.stop();
  say(`  a worker of its own handled ${started} with ${maxRssMb.toFixed(0)} MB`);
  return maxRssMb;
}
