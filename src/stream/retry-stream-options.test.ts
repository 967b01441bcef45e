import { describe, expect, test } from 'vitest';
import { scriptAdapter, type ScriptEvent, scriptedStream, START } from '../../test/support/scripted-stream.ts';
import { isHoldfastError } from '../kernel/error.ts';
import { llmProvider } from '../retry/policies.ts';
import { retryStream, type RetryStreamOptions } from './index.ts';

const valid = { open: scriptedStream([]).open, adapter: scriptAdapter, conversationId: 'c', turnId: 't' };

function problemsOf(options: Record<string, unknown>): string[] {
  try {
    retryStream(options as unknown as RetryStreamOptions<ScriptEvent>);
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
    expect(problemsOf({ ...valid, retry: { maxAttempts: 0 } })).toEqual(['maxAttempts']);
  });

  test('do not include those that work [S2.4]', () => {
    expect(problemsOf({ ...valid, timeouts: { idleMs: Infinity, openMs: 1 }, maxHeldChunks: 0 })).toEqual([]);
    expect(problemsOf({ ...valid, retry: llmProvider })).toEqual([]);
  });

  test('open must give something to iterate: a mistake there is not retried for eight hours [S2.4]', async () => {
    let opens = 0;
    const open = (): AsyncIterable<ScriptEvent> => {
      opens += 1;
      return { fullStream: [] } as unknown as AsyncIterable<ScriptEvent>;
    };
    const stream = retryStream({ ...valid, open, retry: llmProvider });
    await expect(stream.next()).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
    expect(opens).toBe(1);
  });

  test.each([NaN, Infinity, -1])(
    'a strategy that answers %d ends the stream with its name in the error [S2.4]',
    async (delay) => {
      const open = scriptedStream([START, new Error('down')]).open;
      const stream = retryStream({ ...valid, open, retry: { delayFor: () => delay, sleep: () => Promise.resolve() } });
      await expect(stream.next()).rejects.toThrow('retry.delayFor(0)');
    },
  );

  test('a sleep that fails, an adapter that throws and a classifier that throws end the stream [S2.4]', async () => {
    const down = scriptedStream([new Error('down')]).open;
    const fail = (): never => {
      throw new Error('broken');
    };
    const retry = { delayFor: () => 5, sleep: () => Promise.resolve() };
    const sleepless = retryStream({
      ...valid,
      open: down,
      retry: { ...retry, sleep: () => Promise.reject(new Error('broken')) },
    });
    await sleepless.next();
    await expect(sleepless.next()).rejects.toThrow('broken');
    const source = scriptedStream([START]);
    const blind = retryStream({ ...valid, open: source.open, retry, adapter: { reader: () => fail } });
    await expect(blind.next()).rejects.toThrow('broken');
    expect(source.attempts).toHaveLength(1);
    const unjudged = retryStream({ ...valid, open: down, retry, classify: fail });
    await expect(unjudged.next()).rejects.toMatchObject({ code: 'CLASSIFIER_FAILED' });
  });
});
