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
  /** Sorted: how long messages took that waited when the provider was back, from then on; of all, from sending, where it never is. */
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
const FAILED_MS = 5;
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
  let delivered = 0;
  const calls = new Map<number, number>();
  let wasted = 0;
  hf.on(
    called,
    'call',
    async ({ n }) => {
      const before = calls.get(n) ?? 0;
      calls.set(n, before + 1);
      const result = provider.call({ atMs: clock.monoMs(), before, random });
      const isGood = typeof result === 'object' && 'tookMs' in result;
      if (!isGood) wasted += 1;
      const tookMs = isGood ? result.tookMs : result === 'hangs' ? 3_600_000 : FAILED_MS;
      await new Promise<void>((resolve) => void clock.setTimer(resolve, tookMs));
      if (!isGood) throw result === 'hangs' ? new Error('hung') : result.error;
      delivered += 1;
      const [atMs, sentMs, { recoversAtMs }] = [clock.monoMs(), sentAt[n] ?? 0, provider];
      if (recoversAtMs === 0) delays.push(atMs - sentMs);
      else if (sentMs <= recoversAtMs && atMs >= recoversAtMs) delays.push(atMs - recoversAtMs);
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
  for (let round = 0; round < REST_ROUNDS && delivered < sentAt.length; round++) await clock.advance(REST_MS);
  Error.stackTraceLimit = limit;
  const dead = store.deadLetters().length;
  await clock.settle(running.stop({ drainMs: 1 }));
  delays.sort((a, b) => a - b);
  return { sent: sentAt.length, delivered, dead, wasted, delaysMs: delays };
}
