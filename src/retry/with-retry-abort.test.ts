import { getEventListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import { scripted, unavailable } from '../../test/support/scripted.ts';
import { virtualTime } from '../testing/virtual-time.ts';
import { retryBudget } from './budget.ts';
import type { RetryEvent } from './retry-event.ts';
import type { RetryOptions } from './retry-options.ts';
import { constant } from './schedule.ts';
import { withRetry } from './with-retry.ts';

const quick = { schedule: constant(100) };

describe('the caller’s abort', () => {
  test.each([[new Error('mine')], ['a string'], [undefined]])(
    'before the start: the function is not called, the reason comes through (%s) [F.8]',
    async (reason) => {
      const caller = new AbortController();
      caller.abort(reason);
      let called = false;
      const running = withRetry('call', () => void (called = true), { signal: caller.signal });
      await expect(running).rejects.toBe(caller.signal.reason);
      expect(called).toBe(false);
    },
  );

  test('during an attempt: the attempt’s signal is aborted with the caller’s reason, which comes through [S0.1]', async () => {
    const time = virtualTime();
    const caller = new AbortController();
    let inner: AbortSignal | undefined;
    const running = withRetry('call', (ctx) => ((inner = ctx.signal), new Promise(() => undefined)), {
      signal: caller.signal,
      effects: time,
    });
    caller.abort('enough');
    await expect(running).rejects.toBe('enough');
    expect(inner?.reason).toBe('enough');
    expect(time.pendingTimers).toBe(0);
  });

  test('during a wait: rejects at once, clears its timer, calls nothing again, gives its token back [F.9]', async () => {
    const time = virtualTime();
    const caller = new AbortController();
    const { fn, seen } = scripted([unavailable()], 'never');
    let tokens = 5;
    const budget = {
      deposit: () => undefined,
      withdraw: () => (tokens--, true),
      refund: () => void tokens++,
      available: () => tokens,
    };
    const running = withRetry('call', fn, {
      policy: { schedule: constant(60_000) },
      signal: caller.signal,
      budget,
      effects: time,
    });
    await time.advance(1_000);
    expect(tokens).toBe(4);
    caller.abort('enough');
    expect(time.pendingTimers).toBe(0);
    await expect(running).rejects.toBe('enough');
    await time.advance(120_000);
    expect(seen).toHaveLength(1);
    expect(tokens).toBe(5);
  });

  test('in the same tick as success: the value wins [F.10]', async () => {
    const caller = new AbortController();
    const fn = async (): Promise<string> => {
      await Promise.resolve();
      caller.abort('too late');
      return Promise.resolve('value');
    };
    expect(await withRetry('call', fn, { signal: caller.signal })).toBe('value');
  });

  test('in the same tick as failure: the abort is reported [F.10]', async () => {
    const caller = new AbortController();
    const fn = async (): Promise<never> => {
      await Promise.resolve();
      caller.abort('first');
      throw unavailable();
    };
    await expect(withRetry('call', fn, { signal: caller.signal })).rejects.toBe('first');
  });

  test('right after failure, before anything else: the abort is reported [F.10]', async () => {
    const caller = new AbortController();
    let reject: ((error: unknown) => void) | undefined;
    const running = withRetry('call', () => new Promise((_, no) => (reject = no)), { signal: caller.signal });
    reject?.(unavailable());
    caller.abort('second');
    await expect(running).rejects.toBe('second');
  });

  test.each(['classifier', 'observer'])('inside the %s: no further call, no wait [F.11]', async (where) => {
    const time = virtualTime();
    const caller = new AbortController();
    const { fn, seen } = scripted([unavailable()], 'never');
    const options: RetryOptions = {
      policy: quick,
      effects: time,
      signal: caller.signal,
      ...(where === 'classifier'
        ? { classify: () => (caller.abort('inside'), 'retry' as const) }
        : { observe: (event: RetryEvent) => event.type === 'wait-started' && caller.abort('inside') }),
    };
    await expect(time.settle(withRetry('call', fn, options))).rejects.toBe('inside');
    expect(seen).toHaveLength(1);
    expect(time.pendingTimers).toBe(0);
  });

  test.each(['attempt-started', 'attempt-failed', 'wait-started', 'wait-ended'])(
    'inside an observer of %s: no further call, nothing left behind, however the attempt is bounded [F.11]',
    async (type) => {
      for (const timeoutMs of [Infinity, 1_000]) {
        const time = virtualTime();
        const caller = new AbortController();
        const { fn, seen } = scripted([unavailable()], 'never');
        const observe = (event: RetryEvent): void => void (event.type === type && caller.abort('inside'));
        const policy = { ...quick, timeoutMs };
        const running = withRetry('call', fn, { policy, signal: caller.signal, effects: time, observe });
        await expect(time.settle(running)).rejects.toBe('inside');
        expect(seen).toHaveLength(type === 'attempt-started' ? 0 : 1);
        expect(time.pendingTimers).toBe(0);
        expect(getEventListeners(caller.signal, 'abort')).toHaveLength(0);
      }
    },
  );

  test('inside the function, synchronously: reported, no further call [F.11]', async () => {
    const caller = new AbortController();
    let calls = 0;
    const fn = (): Promise<never> => {
      calls += 1;
      caller.abort('inside');
      return new Promise(() => undefined);
    };
    await expect(withRetry('call', fn, { signal: caller.signal })).rejects.toBe('inside');
    expect(calls).toBe(1);
  });

  test('is never put to the classifier', async () => {
    const caller = new AbortController();
    const judged: unknown[] = [];
    const classify = (error: unknown): undefined => void judged.push(error);
    const fn = async (): Promise<never> => {
      caller.abort('stop');
      throw unavailable();
    };
    await expect(withRetry('call', fn, { signal: caller.signal, classify })).rejects.toBe('stop');
    expect(judged).toEqual([]);
  });

  test('inside the classifier gives the token back that the wait had taken [F.22]', async () => {
    const caller = new AbortController();
    const budget = retryBudget({ capacity: 3, perSecond: 0, ratio: 0 });
    const classify = (): 'retry' => (caller.abort('stop'), 'retry');
    const { fn } = scripted([unavailable()], 'never');
    await expect(withRetry('call', fn, { signal: caller.signal, classify, budget })).rejects.toBe('stop');
    expect(budget.available()).toBe(3);
  });

  test('in the tick in which a wait ends: the wait counts as aborted and the function is not called again [F.9]', async () => {
    const time = virtualTime();
    const caller = new AbortController();
    const { fn, seen } = scripted([unavailable()], 'never');
    const setTimer = (wake: () => void, ms: number): unknown =>
      time.setTimer(() => {
        wake();
        caller.abort('now');
      }, ms);
    const events: string[] = [];
    const running = withRetry('call', fn, {
      policy: { ...quick, timeoutMs: Infinity },
      signal: caller.signal,
      effects: { ...time, setTimer },
      observe: (event) => events.push(event.type === 'wait-ended' ? `wait-ended ${event.aborted}` : event.type),
    });
    await expect(time.settle(running)).rejects.toBe('now');
    expect(seen).toHaveLength(1);
    expect(events).toEqual(['attempt-started', 'attempt-failed', 'wait-started', 'wait-ended true', 'stopped']);
  });

  test('inside a classifier that then throws: the abort is reported', async () => {
    const caller = new AbortController();
    const classify = (): never => {
      caller.abort('mine');
      throw new Error('classifier bug');
    };
    const { fn } = scripted([unavailable()], 'never');
    await expect(withRetry('call', fn, { signal: caller.signal, classify })).rejects.toBe('mine');
  });
});

describe('what is left behind', () => {
  test('100,000 calls on one parent leave no listener and no timer [F.12]', async () => {
    const time = virtualTime();
    const caller = new AbortController();
    for (let batch = 0; batch < 100; batch++) {
      await Promise.all(
        Array.from({ length: 1_000 }, (_, i) =>
          withRetry('call', (ctx) => (i % 2 ? ctx.signal.aborted : i), { signal: caller.signal, effects: time }),
        ),
      );
    }
    expect(getEventListeners(caller.signal, 'abort')).toHaveLength(0);
    expect(time.pendingTimers).toBe(0);
  });

  test('10,000 concurrent calls that are aborted leave none either [F.12]', async () => {
    const time = virtualTime();
    const caller = new AbortController();
    const running = Array.from({ length: 10_000 }, () =>
      withRetry('call', () => new Promise(() => undefined), { signal: caller.signal, effects: time }),
    );
    expect(getEventListeners(caller.signal, 'abort')).toHaveLength(1);
    caller.abort('all');
    const ended = await Promise.allSettled(running);
    expect(ended.every((end) => end.status === 'rejected' && end.reason === 'all')).toBe(true);
    expect(time.pendingTimers).toBe(0);
    expect(getEventListeners(caller.signal, 'abort')).toHaveLength(0);
  });
});
