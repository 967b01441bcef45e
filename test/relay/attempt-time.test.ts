import { expect, test } from 'vitest';
import { event, holdfast, type RelayEvent } from '../../src/index.ts';
import { policy } from '../../src/retry/policy.ts';
import { type FaultPoint, memoryStore, virtualTime } from '../../src/testing/index.ts';

const placed = event<{ n: number }>('order.placed');
const TIMEOUT_MS = 100;

/** A handler whose payloads are long on their way, on time that is moved by hand. */
async function slowPayloads(): Promise<{
  time: ReturnType<typeof virtualTime>;
  store: ReturnType<typeof memoryStore>;
  events: RelayEvent[];
  called: () => number;
  stop: () => Promise<void>;
}> {
  const time = virtualTime({ settled: () => new Promise((resolve) => setImmediate(resolve)) });
  const fault = ({ call, step }: FaultPoint): { delayMs: number } | undefined =>
    call === 'fetch' && step === 'after' ? { delayMs: 3 * TIMEOUT_MS } : undefined;
  const store = memoryStore({ effects: time, inlineChars: 0, fault });
  const hf = holdfast({ service: 'orders', store });
  const events: RelayEvent[] = [];
  let called = 0;
  const work = async (): Promise<void> => {
    called += 1;
    await new Promise<void>((resolve) => void time.setTimer(resolve, TIMEOUT_MS / 2));
  };
  hf.on(placed, 'slow', work, { policy: policy({ maxAttempts: 1 }), timeoutMs: TIMEOUT_MS });
  const starting = hf.start({ effects: time, observers: [(told) => void events.push(told)] });
  const running = await time.settle(starting);
  const tx = store.begin();
  await hf.send(tx, placed, { n: 1 });
  tx.commit();
  return { time, store, events, called: () => called, stop: () => time.settle(running.stop({ drainMs: 10 })) };
}

test('the time of an attempt begins when its handler is called: a slow database is not its fault', async () => {
  const { time, store, called, events, stop } = await slowPayloads();
  await time.advance(1_000);
  expect(called()).toBe(1);
  expect(store.delivered()).toMatchObject([{ outcome: 'delivered', attempts: 1 }]);
  expect(events.find(({ kind }) => kind === 'run-done')).toMatchObject({ durationMs: TIMEOUT_MS / 2 });
  await stop();
});

test('a handler that was told to stop before its payload came is not called any more', async () => {
  const { time, store, called, events, stop } = await slowPayloads();
  await time.advance(TIMEOUT_MS);
  expect(events.map(({ kind }) => kind)).toContain('run-started');
  await stop();
  await time.advance(1_000);
  expect(called()).toBe(0);
  expect(store.deliveries()).toMatchObject([{ state: 'ready', attempts: 0 }]);
});
