import { describe, expect, test } from 'vitest';
import { scriptAdapter, type ScriptEvent, scriptedStream, START } from '../../test/support/scripted-stream.ts';
import { isHoldfastError } from '../kernel/error.ts';
import { llmProvider } from '../retry/policies.ts';
import { retryStream, type RetryStreamOptions } from './index.ts';

const valid = { open: scriptedStream([]).open, adapter: scriptAdapter, conversationId: 'c', turnId: 't' };

function problemsOf(options: unknown): string[] {
  try {
    retryStream(options as RetryStreamOptions<ScriptEvent>);
  } catch (error) {
    if (isHoldfastError(error, 'INVALID_OPTIONS')) return error.details.problems.map(({ option }) => option);
    throw error;
  }
  return [];
}

describe('options that cannot work', () => {
  test('are refused at once, all named together [S2.4]', () => {
    const wrong = {
      open: undefined,
      adapter: {},
      conversationId: '',
      turnId: 7,
      retry: { delayFor: 5 },
      signal: {},
      classify: 'fail',
      observe: true,
      timeouts: { openMs: 0, idleMs: NaN, totalMs: -1, firstMs: 3 },
      maxHeldChunks: -1,
      reties: 3,
    };
    expect(problemsOf(wrong).sort()).toEqual(
      [
        'adapter',
        'classify',
        'conversationId',
        'maxHeldChunks',
        'observe',
        'open',
        'reties',
        'retry',
        'signal',
        'timeouts.firstMs',
        'timeouts.idleMs',
        'timeouts.openMs',
        'timeouts.totalMs',
        'turnId',
      ].sort(),
    );
  });

  test('in a policy are refused at once too [S2.4]', () => {
    expect(problemsOf({ ...valid, turnId: '', retry: { maxAttempts: 0, timeoutMs: -1 } })).toEqual([
      'turnId',
      'retry.maxAttempts',
      'retry.timeoutMs',
    ]);
  });

  test.each([undefined, null, 5, 'options'])('as a whole, such as %j, are refused with a name [S2.4]', (options) => {
    expect(problemsOf(options)).toEqual(['options']);
  });

  test.each<[string, unknown]>([
    ['retry', null],
    ['retry', 'llmProvider'],
    ['retry', { delayFor: () => 5 }],
    ['signal', null],
    ['signal', { addEventListener: () => undefined }],
    ['timeouts', null],
    ['timeouts', 5],
    ['requireEnd', 'no'],
    ['operation', 5],
    ['operation', ''],
    ['idempotencyKey', 5],
    ['idempotencyKey', ''],
    ['logger', () => undefined],
    ['logger', { info: () => undefined }],
    ['logFields', 'tenant'],
    ['effects', {}],
    ['classify', null],
    ['observe', null],
  ])('%s cannot be %j [S2.4]', (option, value) => {
    expect(problemsOf({ ...valid, [option]: value })).toEqual([option]);
  });

  test('may be given as undefined, which is the same as leaving them out [S2.4]', () => {
    const left: Partial<RetryStreamOptions<ScriptEvent>> = {
      retry: undefined,
      signal: undefined,
      classify: undefined,
      timeouts: undefined,
      requireEnd: undefined,
      maxHeldChunks: undefined,
      idempotencyKey: undefined,
      operation: undefined,
      logger: undefined,
      logFields: undefined,
      observe: undefined,
      effects: undefined,
    };
    expect(problemsOf({ ...valid, ...left })).toEqual([]);
  });

  test('do not include those that work [S2.4]', () => {
    expect(problemsOf({ ...valid, timeouts: { idleMs: Infinity, openMs: 1 }, maxHeldChunks: 0 })).toEqual([]);
    expect(problemsOf({ ...valid, retry: llmProvider })).toEqual([]);
  });

  test('open must give something to iterate: a mistake there is not retried for eight hours [S2.4]', async () => {
    let opens = 0;
    const open = (): AsyncIterable<ScriptEvent> => {
      opens += 1;
      return { stream: [] } as unknown as AsyncIterable<ScriptEvent>;
    };
    const stream = retryStream({ ...valid, open, retry: llmProvider });
    await expect(stream.next()).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
      message: expect.stringContaining('result.stream of the AI SDK'),
    });
    expect(opens).toBe(1);
  });

  test.each([NaN, Infinity, -1])(
    'a strategy that answers %d ends the stream with its name in the error [S2.4]',
    async (delay) => {
      const down = new Error('down');
      const open = scriptedStream([START, down]).open;
      const stream = retryStream({ ...valid, open, retry: { delayFor: () => delay, sleep: () => Promise.resolve() } });
      const thrown = await stream.next().catch((error: unknown) => error);
      expect(thrown).toMatchObject({ code: 'INVALID_OPTIONS', message: expect.stringContaining('retry.delayFor(0)') });
      expect((thrown as Error).cause).toBe(down);
    },
  );

  test('a strategy that throws ends the stream, and both errors are kept [S2.4]', async () => {
    const down = new Error('down');
    const broken = new Error('broken');
    const open = scriptedStream([down]).open;
    const delayFor = (): never => {
      throw broken;
    };
    const stream = retryStream({ ...valid, open, retry: { delayFor, sleep: () => Promise.resolve() } });
    await expect(stream.next()).rejects.toMatchObject({
      message: expect.stringContaining('retry.delayFor'),
      cause: { errors: [broken, down] },
    });
  });

  test('a sleep that fails ends the wait as seen, then the stream, and both errors are kept [S2.4]', async () => {
    const down = new Error('down');
    const broken = new Error('broken');
    const seen: string[] = [];
    const stream = retryStream({
      ...valid,
      open: scriptedStream([down]).open,
      retry: { delayFor: () => 5, sleep: () => Promise.reject(broken) },
      observe: (event) => seen.push(event.type),
    });
    expect((await stream.next()).value).toMatchObject({ type: 'provider-retry', attempt: 0 });
    expect((await stream.next()).value).toMatchObject({ type: 'provider-retry-end', attempt: 0, outcome: 'cancelled' });
    await expect(stream.next()).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
      message: expect.stringContaining('retry.sleep'),
      cause: { errors: [broken, down] },
    });
    expect(seen).toEqual(['attempt-started', 'attempt-failed', 'wait-started', 'wait-ended', 'stopped']);
    expect(await stream.next()).toEqual({ done: true, value: undefined });
  });

  test('an adapter that throws and a classifier that throws end the stream [S2.4]', async () => {
    const down = scriptedStream([new Error('down')]).open;
    const fail = (): never => {
      throw new Error('broken');
    };
    const retry = { delayFor: () => 5, sleep: () => Promise.resolve() };
    const source = scriptedStream([START]);
    const blind = retryStream({ ...valid, open: source.open, retry, adapter: { reader: () => fail } });
    await expect(blind.next()).rejects.toThrow('broken');
    expect(source.attempts).toHaveLength(1);
    const unjudged = retryStream({ ...valid, open: down, retry, classify: fail });
    await expect(unjudged.next()).rejects.toMatchObject({ code: 'CLASSIFIER_FAILED' });
    const classify = (() => null) as unknown as () => undefined;
    const unanswered = retryStream({ ...valid, open: down, retry, classify });
    await expect(unanswered.next()).rejects.toMatchObject({ code: 'CLASSIFIER_FAILED' });
  });
});
