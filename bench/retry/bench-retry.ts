import asyncRetry from 'async-retry';
import * as cockatiel from 'cockatiel';
import { backOff } from 'exponential-backoff';
import { constant, policy, withRetry } from 'holdfast';
import pRetry from 'p-retry';
import { contestantOf } from '../result/contestant.ts';
import { judge, judgeValue } from '../result/judge.ts';
import type { Contestant, Result, Role } from '../result/result.ts';
import type { Topic } from '../topic.ts';
import { measureCost, type Runner } from './measure-cost.ts';

const MEASURES: Readonly<Record<string, (isQuick: boolean) => Promise<Result>>> = {
  'happy-path': happyPath,
  bounded: happyPathBounded,
  'one-retry': oneRetry,
  memory: heapAfterAMillion,
};

/** `npm run bench -- retry [measure …] [--quick] [--json]`: what a call costs, in one process with the peers. */
export const RETRY: Topic = {
  name: 'retry',
  title: 'Retries',
  measures: Object.keys(MEASURES),
  options: [],
  minutes: { full: 1, quick: 1 },
  packages: ['p-retry', 'cockatiel', 'async-retry', 'exponential-backoff'],
  async run({ measures, isQuick, say }) {
    const results: Result[] = [];
    for (const name of measures.length > 0 ? measures : this.measures) {
      say(name);
      const result = await MEASURES[name]?.(isQuick);
      if (result) results.push(result);
    }
    return { settings: roundsOf(isQuick), results };
  },
};

function roundsOf(isQuick: boolean): { readonly calls: number; readonly rounds: number } {
  return isQuick ? { calls: 5_000, rounds: 5 } : { calls: 20_000, rounds: 15 };
}

const work = async (): Promise<number> => 1;

/** Calls one after the other: what a request handler pays. */
function inTurn(role: Role, name: string, call: () => Promise<unknown>): Runner {
  return {
    name,
    role,
    async run(calls) {
      for (let i = 0; i < calls; i++) await call();
    },
  };
}

/** Calls a thousand at a time, so that the waits overlap and what is left is the cost. */
function together(role: Role, name: string, call: () => Promise<unknown>): Runner {
  return {
    name,
    role,
    async run(calls) {
      for (let left = calls; left > 0; left -= 1_000) {
        await Promise.all(Array.from({ length: Math.min(left, 1_000) }, call));
      }
    },
  };
}

/** A function that fails on its first call and succeeds on the second. */
function failOnce(): () => Promise<number> {
  let failed = false;
  return async () => {
    if (failed) return 1;
    failed = true;
    throw Object.assign(new Error('busy'), { status: 503 });
  };
}

/** The first of the contestants against all peers. */
function firstAgainstPeers(contestants: readonly Contestant[], goal?: number): Result['verdicts'] {
  const [ours] = contestants;
  const peers = contestants.filter(({ role }) => role === 'peer');
  return ours === undefined ? [] : [judge(ours, peers, goal)];
}

/** The happy path without a timeout, everything else as it comes. */
async function happyPath(isQuick: boolean): Promise<Result> {
  const noTimeout = policy({ timeoutMs: Infinity });
  const cockatielRetry = cockatiel.retry(cockatiel.handleAll, { maxAttempts: 3 });
  const contestants = await measureCost(
    [
      inTurn('ours', 'holdfast, no timeout', () => withRetry('bench', work, { policy: noTimeout })),
      inTurn('peer', 'p-retry', () => pRetry(work)),
      inTurn('peer', 'cockatiel', () => cockatielRetry.execute(work)),
      inTurn('peer', 'async-retry', () => asyncRetry(work)),
      inTurn('peer', 'exponential-backoff', () => backOff(work)),
    ],
    { ...roundsOf(isQuick), clock: 'wall' },
  );
  return {
    id: 'happy-path',
    measure: 'a call that succeeds, no timeout',
    contestants,
    verdicts: firstAgainstPeers(contestants, 1),
  };
}

/** The happy path with a bound and a signal for each attempt; peers without one are shown with what they offer. */
async function happyPathBounded(isQuick: boolean): Promise<Result> {
  const bounded = cockatiel.wrap(
    cockatiel.retry(cockatiel.handleAll, { maxAttempts: 3 }),
    cockatiel.timeout(10_000, cockatiel.TimeoutStrategy.Aggressive),
  );
  const contestants = await measureCost(
    [
      inTurn('ours', 'holdfast, signal used', () => withRetry('bench', async ({ signal }) => signal.aborted)),
      inTurn('ours', 'holdfast, signal unused', () => withRetry('bench', work)),
      inTurn('peer', 'cockatiel, retry + timeout, signal used', () =>
        bounded.execute(async ({ signal }) => signal.aborted),
      ),
      inTurn('peer', 'p-retry + AbortSignal.timeout', () => pRetry(async () => AbortSignal.timeout(10_000).aborted)),
    ],
    { ...roundsOf(isQuick), clock: 'wall' },
  );
  const [ours] = contestants;
  const cockatiels = contestants.filter(({ name }) => name.startsWith('cockatiel'));
  const pRetries = contestants.filter(({ name }) => name.startsWith('p-retry'));
  return {
    id: 'bounded',
    measure: 'a call that succeeds, a timeout of 10 s and a signal for each attempt',
    contestants,
    verdicts: ours === undefined ? [] : [judge(ours, cockatiels, 5), judge(ours, pRetries)],
  };
}

/** One failure, one retry, with the shortest wait each allows: CPU time of a call, a thousand at a time. */
async function oneRetry(isQuick: boolean): Promise<Result> {
  const shortest = policy({ schedule: constant(1), timeoutMs: Infinity });
  const shortestBounded = policy({ schedule: constant(1) });
  const cockatielRetry = cockatiel.retry(cockatiel.handleAll, {
    maxAttempts: 3,
    backoff: new cockatiel.ConstantBackoff(1),
  });
  const contestants = await measureCost(
    [
      together('ours', 'holdfast, no timeout', () => withRetry('bench', failOnce(), { policy: shortest })),
      together('ours', 'holdfast, 10 s timeout', () => withRetry('bench', failOnce(), { policy: shortestBounded })),
      together('peer', 'p-retry', () => pRetry(failOnce(), { minTimeout: 1, maxTimeout: 1, factor: 1 })),
      together('peer', 'cockatiel', () => cockatielRetry.execute(failOnce())),
      together('peer', 'async-retry', () =>
        asyncRetry(failOnce(), { minTimeout: 1, maxTimeout: 1, factor: 1, randomize: false }),
      ),
      together('peer', 'exponential-backoff', () => backOff(failOnce(), { startingDelay: 1, timeMultiple: 1 })),
    ],
    { calls: isQuick ? 2_000 : 5_000, rounds: isQuick ? 5 : 9, clock: 'cpu' },
  );
  return {
    id: 'one-retry',
    measure: 'a failure and one retry, a thousand at a time',
    contestants,
    verdicts: firstAgainstPeers(contestants),
    note: 'Processor time: the waits overlap. Ours judges an error by its codes, through the chain of its causes.',
  };
}

const MOST_KIB = 256;

/** What a million calls on one parent signal leave behind in the heap. */
async function heapAfterAMillion(isQuick: boolean): Promise<Result> {
  const { setFlagsFromString } = await import('node:v8');
  const { runInNewContext } = await import('node:vm');
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  const parent = new AbortController();
  const round = async (calls: number): Promise<void> => {
    for (let i = 0; i < calls; i++)
      await withRetry('bench', async ({ signal }) => signal.aborted, { signal: parent.signal });
  };
  const calls = isQuick ? 100_000 : 1_000_000;
  await round(10_000);
  collect();
  const before = process.memoryUsage().heapUsed;
  await round(calls);
  collect();
  const grown = (process.memoryUsage().heapUsed - before) / 1_024;
  return {
    id: 'memory',
    measure: `heap that ${calls.toLocaleString('en')} calls on one parent signal leave behind`,
    contestants: [contestantOf({ name: 'holdfast', role: 'ours', unit: 'KiB', rounds: [grown] })],
    verdicts: [judgeValue(grown, '<', MOST_KIB, 'KiB')],
  };
}
