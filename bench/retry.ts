import asyncRetry from 'async-retry';
import * as cockatiel from 'cockatiel';
import { backOff } from 'exponential-backoff';
import { constant, policy, withRetry } from 'holdfast';
import pRetry from 'p-retry';
import { type Contestant, measure, printTable, type Result } from './measure.ts';

const work = async (): Promise<number> => 1;

/** Calls one after the other: what a request handler pays. */
function inTurn(name: string, call: () => Promise<unknown>): Contestant {
  return {
    name,
    async run(calls) {
      for (let i = 0; i < calls; i++) await call();
    },
  };
}

/** Calls a thousand at a time, so that the waits overlap and what is left is the cost. */
function together(name: string, call: () => Promise<unknown>): Contestant {
  return {
    name,
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

/** The happy path without a timeout, everything else as it comes. */
export async function happyPath(): Promise<Result[]> {
  const noTimeout = policy({ timeoutMs: Infinity });
  const cockatielRetry = cockatiel.retry(cockatiel.handleAll, { maxAttempts: 3 });
  const results = await measure(
    [
      inTurn('holdfast, no timeout', () => withRetry('bench', work, { policy: noTimeout })),
      inTurn('p-retry 9', () => pRetry(work)),
      inTurn('cockatiel 4', () => cockatielRetry.execute(work)),
      inTurn('async-retry 1', () => asyncRetry(work)),
      inTurn('exponential-backoff 3', () => backOff(work)),
    ],
    { calls: 20_000, rounds: 15, clock: 'wall' },
  );
  printTable('happy path, no timeout', results);
  return results;
}

/** The happy path with a bound and a signal for each attempt; peers without one are shown with what they offer. */
export async function happyPathBounded(): Promise<Result[]> {
  const bounded = cockatiel.wrap(
    cockatiel.retry(cockatiel.handleAll, { maxAttempts: 3 }),
    cockatiel.timeout(10_000, cockatiel.TimeoutStrategy.Aggressive),
  );
  const results = await measure(
    [
      inTurn('holdfast, default (10 s timeout), signal used', () =>
        withRetry('bench', async ({ signal }) => signal.aborted),
      ),
      inTurn('holdfast, default (10 s timeout), signal unused', () => withRetry('bench', work)),
      inTurn('cockatiel 4 retry + timeout, signal used', () => bounded.execute(async ({ signal }) => signal.aborted)),
      inTurn('p-retry 9 + AbortSignal.timeout', () => pRetry(async () => AbortSignal.timeout(10_000).aborted)),
    ],
    { calls: 20_000, rounds: 15, clock: 'wall' },
  );
  printTable('happy path, bounded attempts', results);
  return results;
}

/** One failure, one retry, with the shortest wait each allows: CPU time of a call, a thousand at a time. */
export async function oneRetry(): Promise<Result[]> {
  const shortest = policy({ schedule: constant(1), timeoutMs: Infinity });
  const shortestBounded = policy({ schedule: constant(1) });
  const cockatielRetry = cockatiel.retry(cockatiel.handleAll, {
    maxAttempts: 3,
    backoff: new cockatiel.ConstantBackoff(1),
  });
  const results = await measure(
    [
      together('holdfast, no timeout', () => withRetry('bench', failOnce(), { policy: shortest })),
      together('holdfast, 10 s timeout', () => withRetry('bench', failOnce(), { policy: shortestBounded })),
      together('p-retry 9', () => pRetry(failOnce(), { minTimeout: 1, maxTimeout: 1, factor: 1 })),
      together('cockatiel 4', () => cockatielRetry.execute(failOnce())),
      together('async-retry 1', () =>
        asyncRetry(failOnce(), { minTimeout: 1, maxTimeout: 1, factor: 1, randomize: false }),
      ),
      together('exponential-backoff 3', () => backOff(failOnce(), { startingDelay: 1, timeMultiple: 1 })),
    ],
    { calls: 5_000, rounds: 9, clock: 'cpu' },
  );
  printTable('one retry (CPU time, 1,000 at a time)', results);
  return results;
}

/** Bytes of heap that a million calls on one parent signal leave behind. */
export async function heapAfterAMillion(): Promise<number> {
  const { setFlagsFromString } = await import('node:v8');
  const { runInNewContext } = await import('node:vm');
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  const parent = new AbortController();
  const round = async (calls: number): Promise<void> => {
    for (let i = 0; i < calls; i++)
      await withRetry('bench', async ({ signal }) => signal.aborted, { signal: parent.signal });
  };
  await round(10_000);
  collect();
  const before = process.memoryUsage().heapUsed;
  await round(1_000_000);
  collect();
  return process.memoryUsage().heapUsed - before;
}
