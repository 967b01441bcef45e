import { describe, expect, test } from 'vitest';
import {
  END,
  PING,
  scriptAdapter,
  type ScriptEvent,
  scriptedStream,
  START,
  text,
} from '../../test/support/scripted-stream.ts';
import { virtualTime, type VirtualTime } from '../testing/virtual-time.ts';
import { type OpenStream, partialOutput, retryStream, type RetryStreamOptions, withoutRetryEvents } from './index.ts';

const ANSWER = [START, text('a'), END];

/** A stream that gives its events at these virtual times, counted from its opening. */
function timed(
  time: VirtualTime,
  events: readonly (readonly [atMs: number, event: ScriptEvent])[],
): OpenStream<ScriptEvent> {
  return async function* () {
    const start = time.now().monoMs;
    for (const [atMs, event] of events) {
      const left = start + atMs - time.now().monoMs;
      if (left > 0) await new Promise<void>((resolve) => time.setTimer(resolve, left));
      yield event;
    }
  };
}

/** Opens the first with the first, all later ones with a whole answer. */
function firstThenAnswer(first: OpenStream<ScriptEvent>): { open: OpenStream<ScriptEvent>; opens: () => number } {
  let opens = 0;
  const answer = scriptedStream(ANSWER);
  return { opens: () => opens, open: (context) => (opens++ === 0 ? first(context) : answer.open(context)) };
}

async function read(
  time: VirtualTime,
  open: OpenStream<ScriptEvent>,
  timeouts: RetryStreamOptions<ScriptEvent>['timeouts'],
): Promise<{ chunks: ScriptEvent[]; thrown: unknown }> {
  const chunks: unknown[] = [];
  let thrown: unknown;
  const retry = { delayFor: (n: number) => (n === 0 ? 0 : undefined), sleep: () => Promise.resolve() };
  const about = { adapter: scriptAdapter, conversationId: 'c', turnId: 't', effects: time };
  const reading = (async () => {
    for await (const item of retryStream({ ...about, open, retry, ...(timeouts && { timeouts }) })) chunks.push(item);
  })().catch((error: unknown) => void (thrown = error));
  await time.settle(reading);
  return { chunks: withoutRetryEvents(chunks) as ScriptEvent[], thrown };
}

describe('before content', () => {
  test('an open that takes too long is given up, retried, and its late stream closed [S2.3] [F.23]', async () => {
    const time = virtualTime();
    const late = scriptedStream([START, text('late'), END]);
    const { open, opens } = firstThenAnswer(async (context) => {
      await new Promise<void>((resolve) => time.setTimer(resolve, 5_000));
      const stream = await late.open(context);
      // Begun, so that closing it can be seen.
      const iterator = stream[Symbol.asyncIterator]();
      await iterator.next();
      return { [Symbol.asyncIterator]: () => iterator };
    });
    const { chunks, thrown } = await read(time, open, { openMs: 1_000 });
    expect({ chunks, thrown, opens: opens() }).toEqual({ chunks: ANSWER, thrown: undefined, opens: 2 });
    expect(time.now().monoMs).toBe(1_000);
    await time.advance(5_000);
    expect(late.closed).toBe(1);
    expect(late.attempts[0]?.signal.aborted).toBe(true);
    expect(time.pendingTimers).toBe(0);
  });

  test('pings keep the idle timer quiet but do not count as content [F.23]', async () => {
    const time = virtualTime();
    const pings = Array.from({ length: 50 }, (_, i) => [i * 900, PING] as const);
    const { open, opens } = firstThenAnswer(timed(time, pings));
    const { chunks } = await read(time, open, { idleMs: 1_000, firstContentMs: 10_000 });
    expect(chunks.filter((chunk) => chunk === PING)).toHaveLength(12);
    expect(chunks.filter((chunk) => chunk !== PING)).toEqual(ANSWER);
    expect({ opens: opens(), at: time.now().monoMs }).toEqual({ opens: 2, at: 10_000 });
  });

  test('silence between chunks is retried [F.23]', async () => {
    const time = virtualTime();
    const { open, opens } = firstThenAnswer(
      timed(time, [
        [0, START],
        [60_000, text('late')],
      ]),
    );
    const { chunks } = await read(time, open, { idleMs: 1_000 });
    expect({ chunks, opens: opens(), at: time.now().monoMs }).toEqual({ chunks: ANSWER, opens: 2, at: 1_000 });
  });

  test('a bound given as undefined is left out, so that the policy keeps its own [F.23]', async () => {
    const time = virtualTime();
    const about = { adapter: scriptAdapter, conversationId: 'c', turnId: 't', effects: time };
    const retry = { maxAttempts: 1, timeoutMs: 700 };
    const timeouts = { firstContentMs: undefined, idleMs: undefined };
    const stream = retryStream({ ...about, open: scriptedStream(['hang']).open, retry, timeouts });
    await expect(time.settle(stream.next())).rejects.toMatchObject({ details: { timeoutMs: 700 } });
  });

  test('each attempt has its own bounds, and a policy bounds the time to the first content [F.23]', async () => {
    const time = virtualTime();
    const source = scriptedStream(['hang']);
    const about = { open: source.open, adapter: scriptAdapter, conversationId: 'c', turnId: 't', effects: time };
    const retry = { maxAttempts: 3, baseDelayMs: 0, maxDelayMs: 0, timeoutMs: 700 };
    const reading = (async () => {
      for await (const _ of retryStream({ ...about, retry }));
    })();
    await expect(time.settle(reading)).rejects.toMatchObject({
      code: 'STREAM_TIMEOUT',
      details: { phase: 'firstContentMs', timeoutMs: 700 },
    });
    expect(time.now().monoMs).toBe(2_100);
    expect(source.attempts.map(({ signal }) => signal.aborted)).toEqual([true, true, true]);
    expect(new Set(source.attempts.map(({ signal }) => signal)).size).toBe(3);
  });
});

describe('after content', () => {
  test.each([
    ['idleMs', { idleMs: 1_000 }, 1_010],
    ['totalMs', { totalMs: 5_000, idleMs: 60_000 }, 5_000],
  ] as const)('%s ends the stream with its error and the length so far [F.23]', async (phase, timeouts, at) => {
    const time = virtualTime();
    const { open, opens } = firstThenAnswer(
      timed(time, [
        [0, START],
        [10, text('abc')],
        [60_000, END],
      ]),
    );
    const { chunks, thrown } = await read(time, open, { ...timeouts, firstContentMs: 1_500 });
    expect(chunks).toEqual([START, text('abc')]);
    expect(thrown).toMatchObject({ code: 'STREAM_TIMEOUT', details: { phase } });
    expect(partialOutput(thrown)).toEqual({ contentChunks: 1, contentLength: 3 });
    expect({ opens: opens(), at: time.now().monoMs }).toEqual({ opens: 1, at });
  });

  test('a connection left open after the closing event does not spoil a whole answer [F.23]', async () => {
    const time = virtualTime();
    const { chunks, thrown } = await read(time, scriptedStream([...ANSWER, 'hang']).open, { idleMs: 1_000 });
    expect({ chunks, thrown }).toEqual({ chunks: ANSWER, thrown: undefined });
  });

  test('a slow consumer is not mistaken for a silent provider [F.23]', async () => {
    const time = virtualTime();
    const about = { adapter: scriptAdapter, conversationId: 'c', turnId: 't', effects: time, retry: {} };
    const stream = retryStream({ ...about, open: scriptedStream(ANSWER).open, timeouts: { idleMs: 1_000 } });
    const seen: unknown[] = [];
    for (;;) {
      const next = await stream.next();
      if (next.done) break;
      seen.push(next.value);
      await time.advance(60_000);
    }
    expect(seen).toEqual(ANSWER);
    expect(time.pendingTimers).toBe(0);
  });

  test('without a strategy the bounds hold as well [S2.4]', async () => {
    const time = virtualTime();
    const about = { adapter: scriptAdapter, conversationId: 'c', turnId: 't', effects: time };
    const stream = retryStream({
      ...about,
      open: scriptedStream(['hang']).open,
      timeouts: { idleMs: 30 * 86_400_000 },
    });
    await expect(time.settle(stream.next())).rejects.toMatchObject({ code: 'STREAM_TIMEOUT' });
    // Longer than a timer can be: it is really waited.
    expect(time.now().monoMs).toBe(30 * 86_400_000);
  });
});

describe('without a strategy', () => {
  test('the first content takes its bound off, and preamble does not [S2.4] [F.23]', async () => {
    const healthy = await passThrough([
      [0, START],
      [50, text('a')],
      [250, text('b')],
      [300, END],
    ]);
    expect(healthy).toEqual({ chunks: [START, text('a'), text('b'), END], thrown: undefined });
    const silent = await passThrough([
      [0, START],
      [50, PING],
      [250, text('late')],
    ]);
    expect(silent.chunks).toEqual([START, PING]);
    expect(silent.thrown).toMatchObject({ code: 'STREAM_TIMEOUT', details: { phase: 'firstContentMs' } });
  });

  test('a bound that passes after the closing event does no harm [S2.4] [F.23]', async () => {
    const events = ANSWER.map((event) => [0, event] as const);
    expect(await passThrough([...events, [60_000, PING]])).toEqual({ chunks: ANSWER, thrown: undefined });
  });
});

/** Reads without retry, the first content within 100 ms and no silence above a second. */
async function passThrough(
  events: Parameters<typeof timed>[1],
): Promise<{ chunks: readonly unknown[]; thrown: unknown }> {
  const time = virtualTime();
  const chunks: unknown[] = [];
  let thrown: unknown;
  const about = { adapter: scriptAdapter, conversationId: 'c', turnId: 't', effects: time };
  const timeouts = { firstContentMs: 100, idleMs: 1_000 };
  const reading = (async () => {
    for await (const item of retryStream({ ...about, open: timed(time, events), timeouts })) chunks.push(item);
  })().catch((error: unknown) => void (thrown = error));
  await time.settle(reading);
  return { chunks, thrown };
}
