import { describe, expect, test } from 'vitest';
import {
  EMPTY,
  END,
  OVERLOADED,
  PING,
  scriptAdapter,
  type ScriptEvent,
  scriptedStream,
  type ScriptStep,
  START,
  text,
  USAGE,
} from '../../test/support/scripted-stream.ts';
import { readScripted, type ScriptedReading } from '../../test/support/read-scripted.ts';
import { isHoldfastError } from '../kernel/error.ts';
import { llmProvider } from '../retry/policies.ts';
import { retryStrategy } from '../retry/strategy.ts';
import { virtualTime } from '../testing/virtual-time.ts';
import {
  isProviderRetryEvent,
  partialOutput,
  retryStream,
  type RetryStreamEvent,
  type RetryStreamOptions,
  withoutRetryEvents,
} from './index.ts';

const ANSWER = [START, text('Hel'), text('lo'), END];
const retries = (items: ScriptedReading['items']): number => items.filter(isProviderRetryEvent).length;

describe('before content', () => {
  test.each<[string, readonly ScriptStep[]]>([
    ['before its first event', [new Error('socket hang up')]],
    ['after its preamble', [START, new Error('socket hang up')]],
    ['after a ping', [START, PING, new Error('socket hang up')]],
    ['after an empty delta', [START, EMPTY, new Error('socket hang up')]],
    ['after usage in its preamble', [START, USAGE, new Error('socket hang up')]],
    ['with an emitted error that is flagged retryable', [START, OVERLOADED]],
    ['by ending without its closing event', [START, EMPTY]],
    ['by ending at once', []],
  ])('a stream that fails %s is opened again, and exactly one preamble is seen [S2.3] [F.23]', async (_, failing) => {
    const { chunks, items, opens, slept, thrown } = await readScripted([failing, ANSWER]);
    expect(thrown).toBeUndefined();
    expect(chunks.filter((chunk) => chunk !== PING)).toEqual(ANSWER);
    expect({ opens, slept, events: retries(items) }).toEqual({ opens: 2, slept: [5], events: 1 });
  });

  test.each<[string, ScriptEvent]>([
    ['false', { type: 'error', message: 'bad request', retryable: false }],
    ['absent', { type: 'error', message: 'bad request' }],
  ])(
    'an emitted error whose flag is %s is passed on after its preamble, and nothing is retried [S2.3]',
    async (_, error) => {
      const { items, opens, thrown } = await readScripted([[START, error]]);
      expect(items).toEqual([START, error]);
      expect({ opens, thrown }).toEqual({ opens: 1, thrown: undefined });
    },
  );

  test.each([400, 401, 403, 404])('a thrown %i is never retried [S2.3]', async (status) => {
    const error = Object.assign(new Error('no'), { status });
    const { items, opens, thrown } = await readScripted([[error]]);
    expect(thrown).toBe(error);
    expect({ items, opens }).toEqual({ items: [], opens: 1 });
  });

  test('an error that no rule knows is retried, and so is a value that is not an error [S2.3]', async () => {
    const odd = { toString: () => 'odd' };
    let opens = 0;
    const { chunks, items } = await readScripted([], {
      open: () => {
        opens += 1;
        if (opens === 1) throw odd;
        return scriptedStream(ANSWER).open({
          signal: new AbortController().signal,
          attempt: 1,
          idempotencyKey: undefined,
        });
      },
    });
    expect(chunks).toEqual(ANSWER);
    expect(items[0]).toMatchObject({ type: 'provider-retry', message: 'odd' });
  });

  test("the caller's classifier goes first [S2.3]", async () => {
    const error = new Error('quota');
    const refused = await readScripted([[error], ANSWER], { classify: () => 'fail' });
    expect(refused).toMatchObject({ opens: 1, thrown: error });
    const taken = await readScripted([[Object.assign(error, { status: 404 })], ANSWER], { classify: () => 'retry' });
    expect(taken).toMatchObject({ opens: 2, thrown: undefined });
  });

  test('an answer without content is passed on when its closing event comes [S2.3]', async () => {
    const { items, opens } = await readScripted([[START, USAGE, END]]);
    expect(items).toEqual([START, USAGE, END]);
    expect(opens).toBe(1);
  });

  test('pings pass at once while the preamble is held back [F.23]', async () => {
    const { items } = await readScripted([[START, PING, EMPTY, PING, text('a'), END]]);
    expect(items).toEqual([PING, PING, START, EMPTY, text('a'), END]);
  });

  test('a preamble longer than the limit begins the stream: it is passed on and no longer retried [S2.3]', async () => {
    const error = new Error('late');
    const { items, opens, thrown } = await readScripted([[START, EMPTY, EMPTY, error]], { maxHeldChunks: 2 });
    expect(items).toEqual([START, EMPTY, EMPTY]);
    expect({ opens, thrown }).toEqual({ opens: 1, thrown: error });
  });
});

describe('after content', () => {
  test('a thrown error surfaces as it came, with the length of what was yielded [S2.3] [F.23]', async () => {
    const error = Object.freeze(new Error('socket hang up'));
    const { items, opens, slept, thrown } = await readScripted([[START, text('Hel'), text('lo'), error]]);
    expect(items).toEqual([START, text('Hel'), text('lo')]);
    expect(thrown).toBe(error);
    expect(partialOutput(thrown)).toEqual({ contentChunks: 2, contentLength: 5 });
    expect({ opens, slept }).toEqual({ opens: 1, slept: [] });
  });

  test('an emitted error is passed on, even when it is flagged retryable [S2.3] [F.23]', async () => {
    const { items, opens } = await readScripted([[START, text('Hel'), OVERLOADED]]);
    expect(items).toEqual([START, text('Hel'), OVERLOADED]);
    expect(opens).toBe(1);
    expect(partialOutput(OVERLOADED)).toEqual({ contentChunks: 1, contentLength: 3 });
  });

  test('an end without the closing event is a failure, told apart from a whole answer [S2.3] [F.23]', async () => {
    const { items, opens, thrown } = await readScripted([[START, text('Hel')]]);
    expect(items).toEqual([START, text('Hel')]);
    expect(isHoldfastError(thrown, 'STREAM_TRUNCATED') && thrown.details).toEqual({
      contentChunks: 1,
      contentLength: 3,
    });
    expect((thrown as Error).message).toContain('after 1 piece of content (3 characters)');
    expect(opens).toBe(1);
  });

  test('a provider that sends no closing event can be declared as such [S2.3]', async () => {
    const { items, thrown } = await readScripted([[START, text('Hel')]], { requireEnd: false });
    expect(items).toEqual([START, text('Hel')]);
    expect(thrown).toBeUndefined();
  });

  test('a connection that breaks after the closing event takes nothing from a whole answer [S2.3] [F.23]', async () => {
    const lines: object[] = [];
    const ignore = (): void => undefined;
    const debug = (fields: object, message: string): void => void lines.push({ message, ...fields });
    const reset = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
    const { items, opens, seen, thrown } = await readScripted([[...ANSWER, reset]], {
      logger: { debug, info: ignore, warn: ignore, error: ignore },
    });
    expect(items).toEqual(ANSWER);
    expect({ opens, thrown, end: seen.at(-1)?.type }).toEqual({
      opens: 1,
      thrown: undefined,
      end: 'attempt-succeeded',
    });
    expect(lines).toMatchObject([
      { message: 'the stream broke after its closing event', attempt: 1, errorCode: 'ECONNRESET' },
      { message: 'attempt succeeded' },
    ]);
  });

  test('an error thrown after an error chunk is still thrown: that was no closing event [S2.3]', async () => {
    const error = new Error('and then it broke');
    const { items, thrown } = await readScripted([[START, text('Hel'), OVERLOADED, error]]);
    expect(items).toEqual([START, text('Hel'), OVERLOADED]);
    expect(thrown).toBe(error);
  });

  test('what follows the closing event is passed on [S2.3]', async () => {
    const { items, thrown } = await readScripted([[...ANSWER, USAGE]]);
    expect(items).toEqual([...ANSWER, USAGE]);
    expect(thrown).toBeUndefined();
  });
});

describe('the end of the budget', () => {
  test('the suppressed thrown error is thrown, the preamble of its attempt before it [S2.3]', async () => {
    const last = new Error('third');
    const { items, opens, slept, thrown } = await readScripted(
      [[new Error('first')], [new Error('second')], [START, last]],
      {
        delays: [5, 10],
      },
    );
    expect(thrown).toBe(last);
    expect(withoutRetryEvents(items)).toEqual([START]);
    expect({ opens, slept, events: retries(items) }).toEqual({ opens: 3, slept: [5, 10], events: 2 });
  });

  test('the suppressed emitted error is emitted, and nothing is thrown [S2.3]', async () => {
    const { chunks, opens, thrown } = await readScripted([[START, OVERLOADED]], { delays: [5, 10] });
    expect(chunks).toEqual([START, OVERLOADED]);
    expect({ opens, thrown }).toEqual({ opens: 3, thrown: undefined });
  });

  test.each([
    ['as a strategy', retryStrategy(llmProvider, virtualTime())],
    ['as a policy', llmProvider],
  ])('eight hours of overload %s are 21 waits and 22 requests, then the error [S2.1] [S2.4]', async (_, retry) => {
    const time = virtualTime();
    const delays: number[] = [];
    const source = scriptedStream([START, OVERLOADED]);
    const strategy = 'delayFor' in retry ? retryStrategy(llmProvider, time) : retry;
    const events = await time.settle(
      (async () => {
        const items: (ScriptEvent | RetryStreamEvent)[] = [];
        const options = { open: source.open, adapter: scriptAdapter, conversationId: 'c', turnId: 't', effects: time };
        for await (const item of retryStream({ ...options, retry: strategy })) items.push(item);
        return items;
      })(),
    );
    for (const event of events) if (isProviderRetryEvent(event)) delays.push(event.delayMs / 1_000);
    expect(delays).toEqual([5, 10, 30, 60, 300, 600, 900, ...Array<number>(14).fill(1_800)]);
    expect(delays.reduce((a, b) => a + b)).toBe(27_105);
    expect(time.now().monoMs).toBe(27_105_000);
    expect(source.attempts).toHaveLength(22);
    expect(withoutRetryEvents(events)).toEqual([START, OVERLOADED]);
    expect(time.pendingTimers).toBe(0);
  });

  test("a policy's budget can count the attempts as well [S2.1]", async () => {
    const time = virtualTime();
    const source = scriptedStream(['hang']);
    const stream = retryStream({
      open: source.open,
      adapter: scriptAdapter,
      conversationId: 'c',
      turnId: 't',
      effects: time,
      timeouts: { openMs: 1_000, firstContentMs: 60_000 },
      retry: { maxElapsedMs: 130_000, baseDelayMs: 5_000, maxDelayMs: 5_000, jitter: false, timeoutMs: 60_000 },
    });
    const reading = (async () => {
      for await (const _ of stream);
    })();
    await expect(time.settle(reading)).rejects.toMatchObject({ code: 'STREAM_TIMEOUT' });
    // 60 s of attempt, 5 s of waiting, 60 s of attempt: another wait would end at 130 s, and a third attempt is made.
    expect(source.attempts).toHaveLength(3);
  });

  test("a policy takes the server's hint as a floor; a strategy is taken exactly as it is [S2.4]", async () => {
    const hinted = (): Error => Object.assign(new Error('busy'), { status: 429, headers: { 'retry-after': '40' } });
    const time = virtualTime();
    const delaysOf = async (retry: RetryStreamOptions<ScriptEvent>['retry']): Promise<number[]> => {
      const reading = readScripted([[hinted()], ANSWER], { retry: retry ?? {}, effects: time });
      const { items } = await time.settle(reading);
      return items.filter(isProviderRetryEvent).map((event) => event.delayMs);
    };
    expect(await delaysOf(llmProvider)).toEqual([40_000]);
    expect(await delaysOf(retryStrategy(llmProvider, time))).toEqual([5_000]);
  });
});

describe('without a strategy', () => {
  test.each<[string, readonly ScriptStep[]]>([
    ['a whole answer', ANSWER],
    ['a truncated one', [START, text('a')]],
    ['an empty one', []],
    ['an emitted error', [START, OVERLOADED]],
  ])('%s passes through chunk by chunk, as it is [S2.4]', async (_, script) => {
    const source = scriptedStream(script);
    const items: unknown[] = [];
    const options = { open: source.open, adapter: scriptAdapter, conversationId: 'c', turnId: 't' };
    for await (const item of retryStream(options)) items.push(item);
    expect(items).toEqual(script);
    expect(source.attempts).toHaveLength(1);
  });

  test('a thrown error surfaces at once, nothing is held back, and nobody is asked about either [S2.4]', async () => {
    const error = new Error('down');
    const source = scriptedStream([START, error]);
    const ask = (): never => {
      throw new Error('was asked');
    };
    const about = { open: source.open, conversationId: 'c', turnId: 't' };
    const stream = retryStream({ ...about, adapter: { reader: ask }, classify: ask, observe: ask });
    expect(await stream.next()).toEqual({ done: false, value: START });
    await expect(stream.next()).rejects.toBe(error);
  });
});
