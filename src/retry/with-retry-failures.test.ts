import { describe, expect, test } from 'vitest';
import { notFound, outcome, scripted, unavailable } from '../../test/support/scripted.ts';
import { isHoldfastError } from '../kernel/error.ts';
import type { RetryState } from '../kernel/retry-state.ts';
import { virtualTime } from '../testing/virtual-time.ts';
import type { AttemptContext } from './attempt.ts';
import { retryBudget } from './budget.ts';
import { policy } from './policy.ts';
import type { RetryEvent } from './retry-event.ts';
import { constant, steps } from './schedule.ts';
import { withRetry } from './with-retry.ts';

const quick = { schedule: constant(100) };

describe('the context', () => {
  test('may be spread: its signal comes along, and nothing of ours', async () => {
    const copy = await withRetry('call', async (ctx) => ({ ...ctx }), { idempotencyKey: 'k' });
    expect(Object.keys(copy).sort()).toEqual(['attempt', 'idempotencyKey', 'maxAttempts', 'signal']);
    expect(copy.signal).toBeInstanceOf(AbortSignal);
  });

  test('a slow but willing function is not called abandoned', async () => {
    const time = virtualTime();
    const events: string[] = [];
    const fn = async ({ signal }: AttemptContext): Promise<never> => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      // As many promise turns as the AI SDK takes to reject.
      for (let turn = 0; turn < 25; turn++) await Promise.resolve();
      throw signal.reason;
    };
    const observe = (event: RetryEvent): void => void events.push(event.type);
    await outcome(time, withRetry('call', fn, { policy: { ...quick, timeoutMs: 50 }, effects: time, observe }));
    expect(events).not.toContain('attempt-abandoned');
  });

  test('a result whose then cannot be read leaves no timer', async () => {
    const time = virtualTime();
    const broken = (_target: object, name: string | symbol): unknown => {
      if (name === 'then') throw new Error('no then');
      return undefined;
    };
    const odd = new Proxy({}, { get: broken });
    const ended = await outcome(
      time,
      withRetry('call', () => odd, { effects: time }),
    );
    expect(ended).toMatchObject({ error: { message: 'no then' } });
    expect(time.pendingTimers).toBe(0);
  });
});

describe('odd values', () => {
  test('a rejection with nothing is put to the classifier like any other [F.15]', async () => {
    const judged: unknown[] = [];
    const classify = (error: unknown): 'fail' => (judged.push(error), 'fail');
    let calls = 0;
    const fn = (): Promise<never> => (calls++, Promise.reject());
    await expect(withRetry('call', fn, { classify })).rejects.toBe(undefined);
    expect([calls, judged]).toEqual([1, [undefined]]);
  });

  test.each([
    ['undefined', undefined],
    ['a string', 'broken'],
    ['null', null],
    ['a frozen object', Object.freeze({ status: 503 })],
    [
      'an object that cannot be shown',
      {
        toString: () => {
          throw new Error('no');
        },
      },
    ],
    [
      'a getter that throws',
      Object.defineProperty({}, 'status', {
        get: () => {
          throw new Error('no');
        },
      }),
    ],
    [
      'a cyclic cause',
      (() => {
        const error = new Error('round');
        error.cause = error;
        return error;
      })(),
    ],
  ])('%s thrown is handled like any failure [F.15]', async (_name, thrown) => {
    const time = virtualTime();
    let calls = 0;
    const logged: unknown[] = [];
    const log = (fields: object): void => void logged.push(JSON.stringify(fields));
    const fn = (): Promise<never> => {
      calls += 1;
      return Promise.reject(thrown);
    };
    const logger = { debug: log, info: log, warn: log, error: log };
    const ended = await outcome(
      time,
      withRetry('call', fn, { policy: quick, classify: () => 'retry', effects: time, logger }),
    );
    expect(ended).toMatchObject({ error: { code: 'RETRY_STOPPED' } });
    expect('error' in ended && (ended.error as Error).cause).toBe(thrown);
    expect(calls).toBe(3);
    expect(logged.length).toBeGreaterThan(4);
  });
});

describe('the classifier of a call', () => {
  test('overrides the verdict in both directions [S0.1]', async () => {
    const time = virtualTime();
    const denied = scripted([unavailable()], 1);
    await expect(withRetry('call', denied.fn, { classify: () => 'fail' })).rejects.toThrow('down');
    const allowed = scripted([notFound()], 'found');
    expect(
      await time.settle(withRetry('call', allowed.fn, { policy: quick, classify: () => 'retry', effects: time })),
    ).toBe('found');
  });

  test('that overrides a server’s no does not keep the no as a reason', async () => {
    const time = virtualTime();
    const refused = Object.assign(unavailable(), { headers: { 'x-should-retry': 'false' } });
    const reasons: unknown[] = [];
    const observe = (event: RetryEvent): void =>
      void (event.type === 'attempt-failed' && reasons.push(event.failure.reason));
    const options = { policy: quick, classify: () => 'retry' as const, effects: time, observe };
    expect(await time.settle(withRetry('call', scripted([refused], 'ok').fn, options))).toBe('ok');
    expect(reasons).toEqual([undefined]);
    await expect(withRetry('call', scripted([refused], 'ok').fn)).rejects.toBe(refused);
  });

  test('may leave the answer to the default', async () => {
    const { fn, seen } = scripted([notFound()], 1);
    await expect(withRetry('call', fn, { classify: () => undefined })).rejects.toThrow('gone');
    expect(seen).toHaveLength(1);
  });

  test.each([
    ['a promise', () => Promise.resolve('fail')],
    ['false', () => false],
    ['null', () => null],
    ['an object without a verdict', () => ({ kind: 'auth' })],
  ])('that answers %s is refused, with the failure kept', async (name, classify) => {
    const error = Object.assign(new Error('denied'), { status: 401 });
    const { fn, seen } = scripted([error], 1);
    const events: string[] = [];
    const observe = (event: RetryEvent): void => void events.push(event.type);
    const running = withRetry('call', fn, { classify: classify as never, observe });
    await expect(running).rejects.toMatchObject({
      code: 'CLASSIFIER_FAILED',
      message: expect.stringContaining(`answered ${name}`),
      cause: { errors: [classify(), error] },
    });
    expect(seen).toHaveLength(1);
    expect(events).toEqual(['attempt-started', 'attempt-failed', 'stopped']);
  });

  test('that throws is reported with both errors', async () => {
    const broken = new TypeError('classifier bug');
    const error = unavailable();
    const ended = await withRetry('call', scripted([error], 1).fn, {
      classify: () => {
        throw broken;
      },
    }).catch((thrown: unknown) => thrown);
    expect(ended).toMatchObject({ code: 'CLASSIFIER_FAILED', cause: { errors: [broken, error] } });
  });
});

describe('a kept state', () => {
  test('of a stopped operation can be taken up later, in place [F.21]', async () => {
    const time = virtualTime();
    const plan = policy({ schedule: steps([1_000, 2_000, 3_000, 4_000]), maxWaitMs: 3_500 });
    const ended = await outcome(
      time,
      withRetry('call', scripted([unavailable(), unavailable(), unavailable()], 1).fn, { policy: plan, effects: time }),
    );
    if (!('error' in ended) || !isHoldfastError(ended.error, 'RETRY_STOPPED')) throw new Error('expected a stop');
    expect(ended.error.details).toMatchObject({ reason: 'wait-budget', attempts: 3, waitedMs: 3_000 });
    const kept: RetryState = JSON.parse(JSON.stringify(ended.error.details.state));
    const again = scripted([unavailable()], 'ok');
    const more = policy({ schedule: steps([1_000, 2_000, 3_000, 4_000]) });
    expect(await time.settle(withRetry('call', again.fn, { policy: more, resumeFrom: kept, effects: time }))).toBe(
      'ok',
    );
    expect(again.seen.map((ctx) => ctx.attempt)).toEqual([4, 5]);
  });

  test('whose wait is aborted gives back no token that was never taken [F.22]', async () => {
    const time = virtualTime({ wallMs: 0 });
    const caller = new AbortController();
    const budget = retryBudget({ capacity: 5, perSecond: 0, ratio: 0, effects: time });
    for (let taken = 0; taken < 5; taken++) budget.withdraw();
    const startedAt = { wallMs: 0, monoMs: 0 };
    const resumeFrom = { v: 1 as const, attempts: 1, waitedMs: 9_000, lastDelayMs: 9_000, startedAt, dueAtMs: 9_000 };
    const running = withRetry('call', () => 1, { resumeFrom, signal: caller.signal, budget, effects: time });
    await time.advance(1_000);
    caller.abort('stop');
    await expect(running).rejects.toBe('stop');
    expect(budget.available()).toBe(0);
  });

  test('in the middle of a wait waits only the rest of it [F.21]', async () => {
    const time = virtualTime({ wallMs: 10_000 });
    const kept = {
      v: 1 as const,
      attempts: 1,
      waitedMs: 5_000,
      lastDelayMs: 5_000,
      startedAt: { wallMs: 8_000, monoMs: 99 },
      dueAtMs: 13_000,
    };
    await time.settle(withRetry('call', () => 1, { resumeFrom: kept, effects: time }));
    expect(time.now().monoMs).toBe(3_000);
  });
});
