import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { contestantOf } from '../result/contestant.ts';
import { perSecond } from '../result/format.ts';
import type { Contestant, Result } from '../result/result.ts';
import type { Bench } from './bench.ts';
import { settleDown, type BenchDatabase } from './bench-database.ts';
import { growth, peersAt } from './measure-backlog.ts';
import type { ShareReport } from './queue-process.ts';
import { type SharedQueue, untilTrue } from './queue.ts';
import { SHARED, type SharedName } from './shared-queues.ts';

const SCRIPT = fileURLToPath(new URL('queue-process.ts', import.meta.url));
const WORKERS = [1, 2, 4];

/** The same backlog worked off by one, two and four processes of everybody. */
export async function workers(bench: Bench): Promise<Result[]> {
  const { database, isQuick, say } = bench;
  const count = isQuick ? 3_000 : 120_000;
  const rounds = isQuick ? 1 : 3;
  const contestants: Contestant[] = [];
  for (const name of Object.keys(SHARED) as SharedName[]) {
    const queue = await SHARED[name](database);
    for (const at of WORKERS) {
      const rates: number[] = [];
      // Before the first of each there is one to warm up; a quick run has none.
      for (let round = isQuick ? 1 : 0; round <= rounds; round++) {
        const rate = (count / (await drainBy(at, name, queue, database, count))) * 1_000;
        say(`  ${round === 0 ? 'warm-up' : `round ${round}`}: ${name}, processes: ${at}, ${perSecond(rate)}`);
        if (round > 0) rates.push(rate);
      }
      contestants.push(contestantOf({ name, role: queue.role, rounds: rates, at }));
    }
    await queue.close();
  }
  return [
    {
      id: 'workers',
      measure: `drain of ${count.toLocaleString('en')} messages that do nothing, by several processes`,
      along: 'processes',
      contestants,
      verdicts: [growth(contestants, WORKERS), ...WORKERS.map((at) => peersAt(contestants, at))],
      note: 'All processes and the database share the cores of this machine: with two of them nobody can become much faster. The goal is that nobody gets in the way of the others.',
    },
  ];
}

/** Milliseconds from the first start of a handler in any process until the last completion is written. */
async function drainBy(
  processes: number,
  name: SharedName,
  queue: SharedQueue,
  database: BenchDatabase,
  count: number,
): Promise<number> {
  const shares = await Promise.all(Array.from({ length: processes }, () => openShare(name, database)));
  // They are up before there is anything to do: otherwise the first would have it all before the last had started.
  await queue.fill(count, 'nothing');
  await settleDown(database);
  for (const { child } of shares) child.send('go');
  await untilTrue(async () => shares.reduce((sum, share) => sum + share.last().started, 0) >= count);
  await untilTrue(() => queue.isEmpty());
  const endedMs = Date.now();
  const firstMs = Math.min(...shares.map((share) => share.last().firstAtMs).filter((ms) => ms > 0));
  for (const { child } of shares) child.send('stop');
  await Promise.all(shares.map(({ ended }) => ended));
  await queue.clear();
  return endedMs - firstMs;
}

interface Share {
  readonly child: ChildProcess;
  readonly ended: Promise<unknown>;
  last(): ShareReport;
}

async function openShare(name: SharedName, { url }: BenchDatabase): Promise<Share> {
  const child = fork(SCRIPT, [name, url], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const ended = once(child, 'exit');
  const [first] = (await once(child, 'message')) as [ShareReport];
  let told = first;
  child.on('message', (message) => (told = message as ShareReport));
  return {
    child,
    ended,
    last() {
      if (child.exitCode !== null) throw new Error(`a process of ${name} ended with code ${child.exitCode}`);
      return told;
    },
  };
}
