import { describe, expect, test } from 'vitest';
import { readScripted } from '../../test/support/read-scripted.ts';
import { END, OVERLOADED, scriptAdapter, scriptedStream, START, text } from '../../test/support/scripted-stream.ts';
import { virtualTime } from '../testing/virtual-time.ts';
import { isRetryStreamEvent, retryStream, type RetryStreamEvent } from './index.ts';

const ANSWER = [START, text('Hel'), text('lo'), END];

describe('the visible event', () => {
  test('comes before each wait, once, with the fields clients rely on, and is closed after it [S2.2] [F.24]', async () => {
    const order: string[] = [];
    const time = virtualTime({ wallMs: 1_000_000 });
    const source = scriptedStream([OVERLOADED], [new Error('ECONNRESET')], ANSWER);
    const stream = retryStream({
      open: source.open,
      adapter: scriptAdapter,
      conversationId: 'c1',
      turnId: 't1',
      effects: time,
      retry: {
        delayFor: (n) => [5_000, 10_000][n],
        sleep: async (ms) => {
          order.push(`sleep ${ms}`);
          time.jumpWall(ms);
        },
      },
    });
    const events: RetryStreamEvent[] = [];
    for await (const item of stream) {
      if (!isRetryStreamEvent(item)) continue;
      events.push(item);
      order.push(`${item.type} ${item.attempt}`);
    }
    const about = { conversationId: 'c1', turnId: 't1' };
    expect(events).toEqual([
      {
        ...about,
        type: 'provider-retry',
        attempt: 0,
        delayMs: 5_000,
        message: 'HTTP 429: {"error":{"type":"overloaded_error"}}',
        code: '429',
        nextAtMs: 1_005_000,
        waitedMs: 0,
        kind: 'unknown',
      },
      { ...about, type: 'provider-retry-end', attempt: 0, outcome: 'retrying' },
      {
        ...about,
        type: 'provider-retry',
        attempt: 1,
        delayMs: 10_000,
        message: 'ECONNRESET',
        nextAtMs: 1_015_000,
        waitedMs: 5_000,
        kind: 'unknown',
      },
      { ...about, type: 'provider-retry-end', attempt: 1, outcome: 'retrying' },
    ]);
    expect(order).toEqual([
      'provider-retry 0',
      'sleep 5000',
      'provider-retry-end 0',
      'provider-retry 1',
      'sleep 10000',
      'provider-retry-end 1',
    ]);
  });

  test('is not sent for the failure that ends the budget [S2.2] [F.24]', async () => {
    const { items } = await readScripted([[OVERLOADED]], { delays: [5] });
    expect(items.map((item) => item.type)).toEqual(['provider-retry', 'provider-retry-end', 'error']);
  });

  test('a policy with a limit of attempts says how many there are [S2.2]', async () => {
    const time = virtualTime();
    const { items } = await time.settle(
      readScripted([[OVERLOADED], ANSWER], { retry: { maxAttempts: 4 }, effects: time }),
    );
    expect(items[0]).toMatchObject({ type: 'provider-retry', maxAttempts: 4 });
  });
});

describe('those who listen', () => {
  test('see attempts, waits and the end in order [F.24]', async () => {
    const { seen } = await readScripted([[OVERLOADED], ANSWER]);
    expect(seen.map((event) => `${event.type} ${event.attempt}`)).toEqual([
      'attempt-started 1',
      'attempt-failed 1',
      'wait-started 1',
      'wait-ended 1',
      'attempt-started 2',
      'attempt-succeeded 2',
    ]);
  });

  test('are told why it stopped, after how many attempts and how much waiting [F.24]', async () => {
    const stopOf = async (...args: Parameters<typeof readScripted>): Promise<unknown> => {
      const { seen } = await readScripted(...args);
      return seen.find((event) => event.type === 'stopped');
    };
    expect(await stopOf([[OVERLOADED]], { delays: [5, 10] })).toMatchObject({
      reason: 'schedule-ended',
      attempts: 3,
      waitedMs: 15,
    });
    const refused = Object.assign(new Error('no'), { status: 401 });
    expect(await stopOf([[refused]])).toMatchObject({ reason: 'not-retryable', attempts: 1, waitedMs: 0 });
    expect(await stopOf([[text('a'), new Error('cut')]])).toMatchObject({ reason: 'unsafe-replay', attempts: 1 });
  });

  test('cannot break the stream by throwing [F.24]', async () => {
    const fail = (): never => {
      throw new Error('the logger is broken');
    };
    const logger = { debug: fail, info: fail, warn: fail, error: fail };
    const { chunks, thrown } = await readScripted([[OVERLOADED], ANSWER], { observe: fail, logger });
    expect(chunks).toEqual(ANSWER);
    expect(thrown).toBeUndefined();
    const broken = await readScripted([[text('a'), new Error('cut')]], { logger });
    expect(broken.thrown).toMatchObject({ message: 'cut' });
  });

  test('get a log line for each wait and each end, with the length of a broken answer [F.24]', async () => {
    const lines: object[] = [];
    const write =
      (level: string) =>
      (fields: object, message: string): void =>
        void lines.push({ level, message, ...fields });
    const logger = { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
    await readScripted([[OVERLOADED], [text('abc'), new Error('secret text')]], { logger, operation: 'chat' });
    const about = { operation: 'chat', conversationId: 'c1', turnId: 't1' };
    expect(lines).toMatchObject([
      { ...about, message: 'attempt failed', attempt: 1, errorCode: '429' },
      { ...about, message: 'waiting before the next attempt', attempt: 1, delayMs: 5 },
      { ...about, message: 'attempt failed', attempt: 2 },
      { ...about, message: 'the stream broke off after content', contentChunks: 1, contentLength: 3 },
      { ...about, message: 'operation gave up', reason: 'unsafe-replay' },
    ]);
    expect(JSON.stringify(lines)).not.toContain('secret text');
  });
});
