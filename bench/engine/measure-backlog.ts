import { contestantOf } from '../result/contestant.ts';
import { formatValue, perSecond } from '../result/format.ts';
import { judge, judgeValue } from '../result/judge.ts';
import type { Contestant, Result, Verdict } from '../result/result.ts';
import type { Bench } from './bench.ts';
import { poolOn, settleDown } from './bench-database.ts';
import { clearHoldfast, fillHoldfast, holdfastQueue } from './holdfast-queue.ts';
import { PRODUCTS } from './measure-drain.ts';
import { untilTrue, type Queue } from './queue.ts';
import { startWorker } from './worker-child.ts';

const MAX_MB = 250;
const LARGE = { full: 1_000_000, quick: 10_000 };

/** What a long backlog costs, as a series, for the peers too. */
export async function backlog({ database, isQuick, say }: Bench): Promise<Result[]> {
  const sizes = isQuick ? [500, 2_000, LARGE.quick] : [10_000, 100_000, LARGE.full];
  const queues: Queue[] = [];
  for (const make of PRODUCTS) queues.push(await make(database));
  const contestants: Contestant[] = [];
  // The middle size warms up.
  for (const queue of queues) await drained(queue, sizes[1] ?? 0);
  for (const size of sizes) {
    // The small ones are over in a moment, so there are more of them; the largest takes a minute.
    const rounds = isQuick ? 1 : size >= LARGE.full ? 1 : size >= 100_000 ? 3 : 9;
    const samples = new Map(queues.map((queue): [Queue, number[]] => [queue, []]));
    for (let round = 0; round < rounds; round++) {
      for (const queue of queues) samples.get(queue)?.push(await drained(queue, size));
    }
    for (const [{ name, role }, found] of samples) {
      const contestant = contestantOf({ name, role, rounds: found, at: size });
      contestants.push(contestant);
      say(`  ${size} behind: ${name} ${perSecond(contestant.value)}`);
    }
  }
  for (const queue of queues) await queue.close();
  return [
    {
      id: 'backlog',
      measure: 'drain of a backlog that grows, messages that do nothing',
      along: 'messages in the backlog',
      contestants,
      verdicts: [growth(contestants, sizes), peersAt(contestants, sizes.at(-1) ?? 0)],
    },
  ];

  async function drained(queue: Queue, size: number): Promise<number> {
    await queue.fill(size, 'nothing');
    await settleDown(database);
    const rate = (size / (await queue.drain(size, 'nothing'))) * 1_000;
    await queue.clear();
    return rate;
  }
}

/** Ours at the last place of a series against ours at the first. */
export function growth(contestants: readonly Contestant[], places: readonly number[], goal = 0.8): Verdict {
  const at = (place: number | undefined): Contestant | undefined =>
    contestants.find((one) => one.role === 'ours' && one.at === place);
  const [first, last] = [at(places[0]), at(places.at(-1))];
  if (first === undefined || last === undefined) throw new Error('the series lacks an end');
  const usual: Contestant = { ...first, name: `holdfast at ${places[0]?.toLocaleString('en')}`, role: 'usual' };
  return judge(last, [usual], goal);
}

/** Ours at a place of a series against the best peer there. */
export function peersAt(contestants: readonly Contestant[], place: number | string): Verdict {
  const there = contestants.filter(({ at }) => at === place);
  const ours = there.find(({ role }) => role === 'ours');
  if (ours === undefined) throw new Error(`there is none of ours at ${place}`);
  return judge(
    ours,
    there.filter(({ role }) => role === 'peer'),
  );
}

/** What a long history costs, and the memory of a worker with a long backlog. */
export async function history(bench: Bench): Promise<Result[]> {
  const { database, isQuick, say } = bench;
  const [middle, large] = isQuick ? [2_000, LARGE.quick] : [60_000, LARGE.full];
  const queue = await holdfastQueue(database);
  const pool = poolOn(database.url, 4);
  const rates = async (rounds: number): Promise<number[]> => {
    const found: number[] = [];
    for (let round = 0; round < rounds; round++) {
      await queue.fill(middle, 'nothing');
      await settleDown(database);
      found.push((middle / (await queue.drain(middle, 'nothing'))) * 1_000);
    }
    return found;
  };
  await rates(1);
  await queue.clear();
  const fresh = contestantOf({ name: 'holdfast, none kept', role: 'usual', rounds: await rates(isQuick ? 1 : 3) });
  say(`  ${middle} without history: ${perSecond(fresh.value)}`);
  await clearHoldfast(pool);

  await fillHoldfast(pool, large, 'nothing');
  await settleDown(database);
  const memoryMb = await memoryOfWorker(bench, large);
  const left = Number((await pool.query('select count(*) from holdfast.delivery')).rows[0].count);
  await queue.drain(left, 'nothing');
  const kept = Number((await pool.query('select count(*) from holdfast.delivered')).rows[0].count);
  const laden = contestantOf({ name: `holdfast`, role: 'ours', rounds: await rates(isQuick ? 1 : 3) });
  say(`  ${middle} with ${kept} delivered rows kept: ${perSecond(laden.value)}`);
  await queue.clear();
  await queue.close();
  await pool.end();
  return [
    {
      id: 'history.kept',
      measure: `drain with ${kept.toLocaleString('en')} delivered rows kept, against none`,
      contestants: [laden, fresh],
      verdicts: [judge(laden, [fresh], 0.8)],
    },
    {
      id: 'history.memory',
      measure: `memory of a worker with ${large.toLocaleString('en')} messages behind it`,
      contestants: [contestantOf({ name: 'holdfast', role: 'ours', unit: 'MB', rounds: [memoryMb] })],
      verdicts: [judgeValue(memoryMb, '<', MAX_MB, 'MB')],
    },
  ];
}

/** The greatest resident memory, in MB, of a worker that handles the first fifth of the backlog. */
async function memoryOfWorker({ database, say }: Bench, large: number): Promise<number> {
  const worker = startWorker(database);
  await untilTrue(async () => worker.last.started >= large / 5);
  const { started, maxRssMb } = await worker.stop();
  say(`  a worker of its own handled ${started} with ${formatValue(maxRssMb, 'MB')}`);
  return maxRssMb;
}
