import { describe, expect, test } from 'vitest';
import { isHoldfastError } from '../kernel/error.ts';
import { notFound, outcome, scripted, unavailable } from '../../test/support/scripted.ts';
import { virtualTime } from '../testing/virtual-time.ts';
import { retryBudget } from './budget.ts';
import type { RetryOptions } from './retry-options.ts';
import { constant } from './schedule.ts';
import { createRetry, withRetry } from './with-retry.ts';

const quick = { schedule: constant(100) };

describe('options', () => {
  test('that cannot work are refused at once, all named, and the function is not called [F.6]', async () => {
    let called = false;
    const options = {
      idempotencyKey: '',
      deadlineAt: Number.NaN,
      signal: {},
      retries: 3,
      classify: 'no',
    } as unknown as RetryOptions;
    const ended = await withRetry('', () => void (called = true), options).catch((error: unknown) => error);
    if (!isHoldfastError(ended, 'INVALID_OPTIONS')) throw ended;
    expect(ended.details.problems.map((problem) => problem.option).sort()).toEqual(
      ['classify', 'deadlineAt', 'idempotencyKey', 'operation', 'retries', 'signal'].sort(),
    );
    expect(called).toBe(false);
  });

  test('an unknown one alone is refused, with the nearest that is known', async () => {
    const options = { idempotencykey: 'k' } as RetryOptions;
    await expect(withRetry('call', () => 1, options)).rejects.toThrow('did you mean idempotencyKey?');
  });

  test('of the call and of its policy are named together [F.6]', async () => {
    const options = { polcy: 1, policy: { maxAttempts: 0, jiter: true } } as unknown as RetryOptions;
    const ended = await withRetry('', () => 1, options).catch((error: unknown) => error);
    if (!isHoldfastError(ended, 'INVALID_OPTIONS')) throw ended;
    expect(ended.details.problems.map((problem) => problem.option)).toEqual([
      'operation',
      'polcy',
      'policy.jiter',
      'policy.maxAttempts',
    ]);
  });

  test.each([
    ['options', null],
    ['policy', { policy: null }],
    ['policy', { policy: 'llm' }],
    ['policy.hint', { policy: { hint: null } }],
    ['deadlineAt', { deadlineAt: 5_000 }],
    ['budget', { budget: {} }],
    ['logger', { logger: { warn: () => undefined } }],
    ['resumeFrom', { resumeFrom: {} }],
    [
      'resumeFrom',
      { resumeFrom: { v: 9, attempts: 1, waitedMs: 0, lastDelayMs: 0, startedAt: { wallMs: 0, monoMs: 0 } } },
    ],
    [
      'resumeFrom',
      { resumeFrom: { v: 1, attempts: -20, waitedMs: 0, lastDelayMs: 0, startedAt: { wallMs: 0, monoMs: 0 } } },
    ],
    [
      'resumeFrom.attempts',
      { resumeFrom: { v: 1, attempts: 3, waitedMs: 0, lastDelayMs: 0, startedAt: { wallMs: 0, monoMs: 0 } } },
    ],
  ])('%s that cannot be used is refused with its name (%j)', async (option, options) => {
    const ended = await withRetry('call', () => 1, options as unknown as RetryOptions).catch((error: unknown) => error);
    if (!isHoldfastError(ended, 'INVALID_OPTIONS')) throw ended;
    expect(ended.details.problems.map((problem) => problem.option)).toEqual([option]);
  });

  test('of the policy, written beside it, are told where they belong', async () => {
    const options = { maxAttempts: 5, classifier: () => 'retry' } as unknown as RetryOptions;
    const running = withRetry('call', () => 1, options);
    await expect(running).rejects.toThrow('put it into the policy: { policy: { maxAttempts: … } }');
    await expect(running).rejects.toThrow('did you mean classify?');
  });

  test('inherited fields are none of ours', async () => {
    expect(await withRetry('call', () => 1, Object.create({ foo: 1 }) as RetryOptions)).toBe(1);
  });

  test('given as defaults are checked when they are given', () => {
    expect(() => createRetry({ polcy: 1 } as unknown as RetryOptions)).toThrow('did you mean policy?');
  });

  test('left undefined in a call keep the defaults', async () => {
    let calls = 0;
    const retry = createRetry({ policy: { maxAttempts: 1 } });
    const fn = (): Promise<never> => (calls++, Promise.reject(unavailable()));
    await expect(retry('call', fn, { policy: undefined })).rejects.toThrow('down');
    expect(calls).toBe(1);
  });

  test('of the policy are refused the same way', async () => {
    await expect(withRetry('call', () => 1, { policy: { maxAttempts: 0 } })).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
    });
  });

  test('are never changed by us', async () => {
    const time = virtualTime();
    const options = Object.freeze({
      policy: Object.freeze({ ...quick }),
      logFields: Object.freeze({ userId: 'u' }),
      effects: time,
    });
    const kept = JSON.stringify(options);
    await time.settle(withRetry('call', scripted([unavailable()], 1).fn, options));
    expect(JSON.stringify(options)).toBe(kept);
  });

  test('given once serve every call, and a call’s own win [S0.1]', async () => {
    const time = virtualTime();
    const lines: object[] = [];
    const log = (fields: object): void => void lines.push(fields);
    const retry = createRetry({
      policy: { ...quick, maxAttempts: 2 },
      logger: { debug: log, info: log, warn: log, error: log },
      logFields: { userId: 'u', orgId: 'o' },
      effects: time,
    });
    await outcome(time, retry('a', scripted([unavailable(), unavailable()], 1).fn, { logFields: { orgId: 'other' } }));
    expect(lines.at(-1)).toMatchObject({ operation: 'a', userId: 'u', orgId: 'other', attempts: 2 });
    await expect(
      time.settle(retry('b', scripted([unavailable(), unavailable()], 1).fn, { policy: { ...quick, maxAttempts: 3 } })),
    ).resolves.toBe(1);
  });
});

describe('a shared budget', () => {
  test('that is empty stops before the wait, and the operation says so [F.22]', async () => {
    const empty = { deposit: () => undefined, withdraw: () => false, refund: () => undefined, available: () => 0 };
    const { fn, seen } = scripted([unavailable()], 1);
    await expect(withRetry('call', fn, { budget: empty })).rejects.toMatchObject({
      code: 'RETRY_STOPPED',
      details: { reason: 'shared-budget', attempts: 1, waitedMs: 0 },
    });
    expect(seen).toHaveLength(1);
  });

  test('is not touched by an operation that stops anyway, nor does one exhausted operation disable others [F.22]', async () => {
    const time = virtualTime();
    const budget = retryBudget({ capacity: 4, perSecond: 0, ratio: 0, effects: time });
    await outcome(time, withRetry('a', scripted([notFound()], 1).fn, { budget, effects: time }));
    expect(budget.available()).toBe(4);
    await outcome(
      time,
      withRetry('b', scripted([unavailable(), unavailable(), unavailable()], 1).fn, {
        policy: quick,
        budget,
        effects: time,
      }),
    );
    expect(budget.available()).toBe(2);
    expect(
      await time.settle(withRetry('c', scripted([unavailable()], 'ok').fn, { policy: quick, budget, effects: time })),
    ).toBe('ok');
    expect(budget.available()).toBe(1);
  });

  test('two operations at once never spend a token twice [F.22]', async () => {
    const time = virtualTime();
    const budget = retryBudget({ capacity: 3, perSecond: 0, ratio: 0, effects: time });
    const options = { policy: { ...quick, maxAttempts: 10 }, budget, effects: time };
    const calls = { a: 0, b: 0 };
    const failing = (name: 'a' | 'b') => (): Promise<never> => {
      calls[name] += 1;
      return Promise.reject(unavailable());
    };
    const both = Promise.allSettled([withRetry('a', failing('a'), options), withRetry('b', failing('b'), options)]);
    await time.settle(both);
    expect(calls.a + calls.b).toBe(2 + 3);
  });
});
