import { getEventListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import {
  END,
  OVERLOADED,
  scriptAdapter,
  type ScriptEvent,
  type ScriptedStream,
  scriptedStream,
  START,
  text,
} from '../../test/support/scripted-stream.ts';
import type { RetryEvent } from '../retry/retry-event.ts';
import { retryStrategy } from '../retry/strategy.ts';
import { virtualTime, type VirtualTime } from '../testing/virtual-time.ts';
import { retryStream, type RetryStreamEvent, type RetryStreamOptions } from './index.ts';

const HALF_HOUR_MS = 1_800_000;

interface Setup {
  readonly stream: AsyncGenerator<ScriptEvent | RetryStreamEvent, void, undefined>;
  readonly time: VirtualTime;
  readonly caller: AbortController;
  readonly listeners: () => number;
  readonly seen: RetryEvent[];
}

function setUp(source: ScriptedStream, options: Partial<RetryStreamOptions<ScriptEvent>> = {}): Setup {
  const time = virtualTime();
  const caller = new AbortController();
  const seen: RetryEvent[] = [];
  const policy = { baseDelayMs: HALF_HOUR_MS, maxDelayMs: HALF_HOUR_MS, jitter: false };
  const stream = retryStream({
    open: source.open,
    adapter: scriptAdapter,
    conversationId: 'c',
    turnId: 't',
    signal: caller.signal,
    retry: retryStrategy(policy, time),
    effects: time,
    observe: (event) => seen.push(event),
    ...options,
  });
  return { stream, time, caller, seen, listeners: () => getEventListeners(caller.signal, 'abort').length };
}

const DONE = { done: true, value: undefined };

describe('abort', () => {
  test.each([
    ['an error', new Error('cancelled by the user')],
    ['a string', 'stop'],
    ['null', null],
  ])(
    'during a wait: the stream ends as aborted at once, with %s as the reason, and opens nothing more [S2.4] [F.23]',
    async (_, reason) => {
      const source = scriptedStream([OVERLOADED], [START, text('never'), END]);
      const { stream, time, caller, listeners, seen } = setUp(source);
      expect((await stream.next()).value).toMatchObject({ type: 'provider-retry', attempt: 0 });
      const next = stream.next();
      await time.advance(60_000);
      caller.abort(reason);
      expect((await next).value).toMatchObject({ type: 'provider-retry-end', attempt: 0, outcome: 'cancelled' });
      await expect(stream.next()).rejects.toBe(reason);
      expect(await stream.next()).toEqual(DONE);
      await time.advance(HALF_HOUR_MS);
      expect(source.attempts).toHaveLength(1);
      expect({ timers: time.pendingTimers, listeners: listeners() }).toEqual({ timers: 0, listeners: 0 });
      expect(seen.at(-1)).toMatchObject({ type: 'stopped', reason: 'aborted' });
    },
  );

  test('during a wait whose sleep ignores its signal: the same [S2.4]', async () => {
    const source = scriptedStream([OVERLOADED]);
    const retry = { delayFor: () => 5, sleep: () => new Promise<void>(() => undefined) };
    const { stream, caller, listeners } = setUp(source, { retry });
    await stream.next();
    const next = stream.next();
    caller.abort();
    expect((await next).value).toMatchObject({ outcome: 'cancelled' });
    await expect(stream.next()).rejects.toBe(caller.signal.reason);
    expect(listeners()).toBe(0);
  });

  test('between the event and the wait: the wait is not begun [S2.4]', async () => {
    const source = scriptedStream([OVERLOADED]);
    const { stream, time, caller } = setUp(source);
    await stream.next();
    caller.abort();
    expect((await stream.next()).value).toMatchObject({ outcome: 'cancelled' });
    await expect(stream.next()).rejects.toBe(caller.signal.reason);
    expect(time.pendingTimers).toBe(0);
  });

  test('before the first read: nothing is opened and the reason passes through [S2.4]', async () => {
    const source = scriptedStream([START, END]);
    const { stream, caller, listeners } = setUp(source);
    caller.abort('too late');
    await expect(stream.next()).rejects.toBe('too late');
    expect({ opens: source.attempts.length, listeners: listeners() }).toEqual({ opens: 0, listeners: 0 });
  });

  test('while streaming: the stream throws the reason although the provider just ends [S2.4] [F.23]', async () => {
    const source = scriptedStream([START, text('Hel'), 'hang']);
    const { stream, caller, listeners } = setUp(source);
    expect((await stream.next()).value).toEqual(START);
    expect((await stream.next()).value).toEqual(text('Hel'));
    const next = stream.next();
    caller.abort();
    await expect(next).rejects.toBe(caller.signal.reason);
    expect(source.attempts[0]?.signal.reason).toBe(caller.signal.reason);
    expect(listeners()).toBe(0);
  });

  test('while the consumer is busy with a chunk: nothing more is yielded [S2.4]', async () => {
    const source = scriptedStream([START, text('a'), text('b'), END]);
    const { stream, caller } = setUp(source);
    await stream.next();
    await stream.next();
    caller.abort();
    await expect(stream.next()).rejects.toBe(caller.signal.reason);
  });

  test('inside open and inside the classifier it is an abort, not a failure [S2.4]', async () => {
    const caller = new AbortController();
    const inOpen = setUp(scriptedStream([]), {
      signal: caller.signal,
      open: () => {
        caller.abort('in open');
        throw new Error('AbortError of the client');
      },
    });
    await expect(inOpen.stream.next()).rejects.toBe('in open');
    const other = new AbortController();
    const inClassifier = setUp(scriptedStream([new Error('down')]), {
      signal: other.signal,
      classify: () => {
        other.abort('in classifier');
        return 'fail';
      },
    });
    await expect(inClassifier.stream.next()).rejects.toBe('in classifier');
  });

  test('after the closing event it changes nothing: the answer is whole [S2.4]', async () => {
    const source = scriptedStream([START, text('a'), END, 'hang']);
    const { stream, caller, seen } = setUp(source);
    for (let i = 0; i < 3; i++) await stream.next();
    const next = stream.next();
    caller.abort();
    expect(await next).toEqual(DONE);
    expect(seen.at(-1)?.type).toBe('attempt-succeeded');
  });

  test('without a strategy it throws the reason as well [S2.4]', async () => {
    const source = scriptedStream([START, 'hang']);
    const caller = new AbortController();
    const options = { open: source.open, adapter: scriptAdapter, conversationId: 'c', turnId: 't' };
    const stream = retryStream({ ...options, signal: caller.signal });
    await stream.next();
    const next = stream.next();
    caller.abort('enough');
    await expect(next).rejects.toBe('enough');
  });
});

describe('a consumer that stops reading', () => {
  test('by break: the attempt is aborted, its stream closed, and nothing has failed [F.23]', async () => {
    const source = scriptedStream([START, text('a'), text('b'), END]);
    const { stream, listeners, time, seen } = setUp(source, { timeouts: { idleMs: 1_000, totalMs: 9_000 } });
    for await (const item of stream) if (item.type === 'text') break;
    expect(source.attempts[0]?.signal.aborted).toBe(true);
    expect(source.closed).toBe(1);
    expect({ timers: time.pendingTimers, listeners: listeners() }).toEqual({ timers: 0, listeners: 0 });
    expect(seen.map((event) => event.type)).toEqual(['attempt-started', 'stopped']);
  });

  test('by return() during a half-hour wait: it ends at once and leaves nothing behind [F.23]', async () => {
    const source = scriptedStream([OVERLOADED]);
    const { stream, time, listeners } = setUp(source);
    await stream.next();
    const next = stream.next();
    await time.advance(1);
    expect(await stream.return()).toEqual(DONE);
    expect(await next).toEqual(DONE);
    expect({ timers: time.pendingTimers, listeners: listeners() }).toEqual({ timers: 0, listeners: 0 });
    expect(source.attempts).toHaveLength(1);
  });

  test('by return() during a read that never ends: it ends at once [F.23]', async () => {
    const source = scriptedStream([START, 'hang']);
    const { stream, time, listeners } = setUp(source);
    const next = stream.next();
    await time.advance(0);
    expect(await stream.return()).toEqual(DONE);
    expect(await next).toEqual(DONE);
    await time.advance(0);
    expect({ closed: source.closed, listeners: listeners() }).toEqual({ closed: 1, listeners: 0 });
  });

  test('by `await using` or throw(): closed the same way [F.23]', async () => {
    const disposed = setUp(scriptedStream([START, text('a'), END]));
    await disposed.stream.next();
    await disposed.stream[Symbol.asyncDispose]();
    expect(disposed.listeners()).toBe(0);
    const thrown = setUp(scriptedStream([START, text('a'), END]));
    await thrown.stream.next();
    await expect(thrown.stream.throw(new Error('consumer'))).rejects.toThrow('consumer');
    expect(thrown.listeners()).toBe(0);
  });

  test('before reading: nothing is opened [F.23]', async () => {
    const source = scriptedStream([START, END]);
    const { stream } = setUp(source);
    await stream.return();
    expect(await stream.next()).toEqual(DONE);
    expect(source.attempts).toHaveLength(0);
  });

  test('whose provider fails to close does not notice [F.23]', async () => {
    const broken: AsyncIterable<ScriptEvent> = {
      [Symbol.asyncIterator]: () => ({
        next: () => Promise.resolve({ done: false, value: text('a') }),
        return: () => Promise.reject(new Error('cannot close')),
      }),
    };
    const { stream, listeners } = setUp(scriptedStream([]), { open: () => broken });
    for await (const item of stream) if (item.type === 'text') break;
    expect(listeners()).toBe(0);
  });
});

test('a stream that ends by itself is not aborted; one that is given up is [F.25]', async () => {
  const source = scriptedStream([OVERLOADED], [START, text('a'), END]);
  const { stream, time } = setUp(source);
  await time.settle(
    (async () => {
      for await (const _ of stream);
    })(),
  );
  expect(source.attempts.map(({ signal }) => signal.aborted)).toEqual([true, false]);
});

describe('many streams on one signal', () => {
  test('leave no listener and no timer behind, however they end [F.23]', async () => {
    const caller = new AbortController();
    const time = virtualTime();
    const retry = retryStrategy({ maxAttempts: 2, jitter: false }, time);
    const scripts = [
      [[OVERLOADED], [START, text('a'), END]],
      [[OVERLOADED], [OVERLOADED]],
      [[START, text('a'), new Error('cut')]],
      [['hang' as const], ['hang' as const]],
    ];
    const read = async (index: number): Promise<void> => {
      const source = scriptedStream(...(scripts[index % scripts.length] ?? []));
      const about = { open: source.open, adapter: scriptAdapter, conversationId: 'c', turnId: 't' };
      const timeouts = { firstContentMs: 500, idleMs: 900, totalMs: 9_000 };
      const stream = retryStream({ ...about, signal: caller.signal, retry, effects: time, timeouts });
      try {
        for await (const item of stream) if (index % 5 === 0 && item.type === 'text') break;
      } catch {
        // Half of the scripts end so.
      }
    };
    await time.settle(Promise.all(Array.from({ length: 1_000 }, (_, index) => read(index))));
    expect(time.pendingTimers).toBe(0);
    expect(getEventListeners(caller.signal, 'abort')).toHaveLength(0);
  });
});
