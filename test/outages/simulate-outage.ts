import { event, holdfast } from '../../src/index.ts';
import { memoryStore, virtualTime } from '../../src/testing/index.ts';
import { SeededRandom } from '../simulation/seeded-random.ts';
import type { Provider } from './providers.ts';

/** How messages come. */
export interface Traffic {
  readonly name: string;
  readonly everyMs: number;
  /** Messages in each transaction. */
  readonly each: number;
}

/** What one simulated outage came to. */
export interface OutageResult {
  readonly sent: number;
  readonly delivered: number;
  readonly dead: number;
  /** Calls that failed. */
  readonly wasted: number;
  /** How long messages took, sorted, counted from when they were sent or the provider was back, whichever is later. */
  readonly delaysMs: readonly number[];
}

export interface OutageOptions {
  readonly provider: Provider;
  readonly traffic: Traffic;
  /** For how long messages are sent. */
  readonly sendsMs: number;
  readonly seed: number;
}

const TIME_LIMIT_MS = 2_000;
const CALL_MS = 5;
const CONCURRENCY = 64;
const REST_MS = 60_000;
const REST_ROUNDS = 60;
const called = event<{ readonly n: number }>('provider.called', { key: ({ n }) => `k${n % 1_000}` });

/** Runs the real relay over the store in memory, in virtual time, against a provider that is not always there. */
export async function simulateOutage({ provider, traffic, sendsMs, seed }: OutageOptions): Promise<OutageResult> {
  const random = new SeededRandom(seed);
  const clock = virtualTime({ settled: () => new Promise((resolve) => setImmediate(resolve)) });
  // Whole milliseconds: the wall clock cannot hold smaller parts of one, and what is due in less would never be due.
  const setTimer = (wake: () => void, ms: number): unknown => clock.setTimer(wake, Math.ceil(ms));
  const time = { ...clock, setTimer, random: () => random.next() };
  const store = memoryStore({ effects: time, units: 8 });
  const hf = holdfast({ service: 'simulation', store });
  const sentAt: number[] = [];
  const delays: number[] = [];
  const calls = new Map<number, number>();
  let wasted = 0;
  hf.on(
    called,
    'call',
    async ({ n }) => {
      const before = calls.get(n) ?? 0;
      calls.set(n, before + 1);
      const result = provider.call({ atMs: clock.monoMs(), before, random });
      if (result !== undefined) wasted += 1;
      await new Promise<void>((resolve) => void clock.setTimer(resolve, result === 'hangs' ? 3_600_000 : CALL_MS));
      if (result !== undefined && result !== 'hangs') throw result.error;
      delays.push(clock.monoMs() - Math.max(sentAt[n] ?? 0, provider.recoversAtMs));
    },
    { concurrency: CONCURRENCY, timeoutMs: TIME_LIMIT_MS },
  );
  const running = await clock.settle(hf.start({ effects: time }));
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 0;
  for (let atMs = 0; atMs < sendsMs; atMs += traffic.everyMs) {
    const tx = store.begin();
    for (let i = 0; i < traffic.each; i++) {
      sentAt.push(clock.monoMs());
      await hf.send(tx, called, { n: sentAt.length - 1 });
    }
    tx.commit();
    await clock.advance(traffic.everyMs);
  }
  // Until all is delivered; what is not by then does not come.
  for (let round = 0; round < REST_ROUNDS && delays.length < sentAt.length; round++) await clock.advance(REST_MS);
  Error.stackTraceLimit = limit;
  const dead = store.deadLetters().length;
  await clock.settle(running.stop({ drainMs: 1 }));
  delays.sort((a, b) => a - b);
  return { sent: sentAt.length, delivered: delays.length, dead, wasted, delaysMs: delays };
}
