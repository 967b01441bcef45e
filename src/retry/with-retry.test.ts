import { describe, expect, test } from 'vitest';
import { type HoldfastError, isHoldfastError } from '../kernel/error.ts';
import { notFound, outcome, scripted, unavailable } from '../../test/support/scripted.ts';
import { virtualTime } from '../testing/virtual-time.ts';
import type { AttemptContext } from './attempt.ts';
import type { RetryEvent } from './retry-event.ts';
import type { RetryOptions } from './retry-options.ts';
import { constant } from './schedule.ts';
import { withRetry } from './with-retry.ts';

const EPOCH = Date.UTC(2026, 0, 1);
const quick = { schedule: constant(100) };

describe('attempts', () => {
  test('go on after transient errors until one succeeds [S0.1]', async () => {
    const time = virtualTime();
    const { fn, seen } = scripted([unavailable(), unavailable()], 'done');
    expect(await time.settle(withRetry('call', fn, { policy: quick, effects: time }))).toBe('done');
    expect(seen.map((ctx) => ctx.attempt)).toEqual([1, 2, 3]);
    expect(time.now().monoMs).toBe(200);
  });

  test('end at once on an error that is not worth another, and it comes through unchanged [S0.1] [S0.2]', async () => {
    const error = notFound();
    const { fn, seen } = scripted([error], 'done');
    await expect(withRetry('call', fn)).rejects.toBe(error);
    expect(seen).toHaveLength(1);
  });

  test('that did not help end in RETRY_STOPPED with the last error as its cause, attempts and times [S0.1]', async () => {
    const time = virtualTime();
    const last = unavailable();
    const { fn } = scripted([unavailable(), unavailable(), last], 'never');
    const ended = await outcome(time, withRetry('charge', fn, { policy: quick, effects: time }));
    expect(ended).toMatchObject({
      error: {
        code: 'RETRY_STOPPED',
        cause: last,
        details: {
          operation: 'charge',
          reason: 'attempts',
          attempts: 3,
          waitedMs: 200,
          lastFailure: { kind: 'overload', status: 503 },
          firstFailedAt: '2026-01-01T00:00:00.000Z',
          endedAt: '2026-01-01T00:00:00.200Z',
        },
      },
    });
  });

  test('a single attempt gives back its own error', async () => {
    const error = unavailable();
    await expect(withRetry('call', scripted([error], 1).fn, { policy: { maxAttempts: 1 } })).rejects.toBe(error);
  });

  test('a permanent error after a transient one tells of both attempts', async () => {
    const time = virtualTime();
    const error = notFound();
    const ended = await outcome(
      time,
      withRetry('call', scripted([unavailable(), error], 1).fn, { policy: quick, effects: time }),
    );
    expect(ended).toMatchObject({
      error: { code: 'RETRY_STOPPED', cause: error, details: { reason: 'not-retryable', attempts: 2 } },
    });
  });

  test('a function that throws before it returns a promise is retried too', async () => {
    const time = virtualTime();
    let calls = 0;
    const fn = (): Promise<string> => {
      calls += 1;
      if (calls === 1) throw unavailable();
      return Promise.resolve('ok');
    };
    expect(await time.settle(withRetry('call', fn, { policy: quick, effects: time }))).toBe('ok');
  });

  test('a plain value is taken as it is', async () => {
    expect(await withRetry('call', () => 7)).toBe(7);
    expect(await withRetry('call', () => undefined)).toBe(undefined);
  });

  test('a terminal error inside the function makes no further call [F.17]', async () => {
    const { TerminalHandlerError } = await import('./terminal-handler-error.ts');
    const { fn, seen } = scripted([new TerminalHandlerError('stop here'), unavailable()], 1);
    await expect(withRetry('call', fn, { policy: quick, classify: () => 'retry' })).rejects.toThrow('stop here');
    expect(seen).toHaveLength(1);
  });

  test('see the idempotency key, the same for all [S0.1]', async () => {
    const time = virtualTime();
    const { fn, seen } = scripted([unavailable(), unavailable()], 1);
    await time.settle(withRetry('call', fn, { policy: quick, idempotencyKey: 'k:1', effects: time }));
    expect(seen.map((ctx) => ctx.idempotencyKey)).toEqual(['k:1', 'k:1', 'k:1']);
    expect(seen[0]?.maxAttempts).toBe(3);
  });

  test('waits longer than 2^31 ms are really waited [F.5]', async () => {
    const time = virtualTime();
    const { fn } = scripted([unavailable()], 'done');
    const delay = 2 ** 31 + 5_000;
    await time.settle(withRetry('call', fn, { policy: { schedule: constant(delay) }, effects: time }));
    expect(time.now().monoMs).toBe(delay);
  });
});

describe('timeouts', () => {
  /** Ends only when its signal does, like fetch. */
  const hangs = (ctx: AttemptContext): Promise<never> =>
    new Promise((_, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason)));

  test('each attempt has a fresh signal, so the second can succeed after the first timed out [F.13]', async () => {
    const time = virtualTime();
    const signals: AbortSignal[] = [];
    const fn = (ctx: AttemptContext): Promise<string> => {
      signals.push(ctx.signal);
      return ctx.attempt === 1 ? hangs(ctx) : Promise.resolve('ok');
    };
    expect(await time.settle(withRetry('call', fn, { policy: { ...quick, timeoutMs: 50 }, effects: time }))).toBe('ok');
    expect(signals.map((signal) => signal.aborted)).toEqual([true, false]);
    expect(isHoldfastError(signals[0]?.reason, 'ATTEMPT_TIMEOUT')).toBe(true);
    expect(time.now().monoMs).toBe(150);
    expect(time.pendingTimers).toBe(0);
  });

  test('bound a function that ignores its signal; its late value and its late error are dropped [F.14]', async () => {
    const time = virtualTime();
    const late: ((settle: 'value' | 'error') => void)[] = [];
    const fn = (): Promise<string> =>
      new Promise((resolve, reject) =>
        late.push((how) => (how === 'value' ? resolve('late') : reject(new Error('late')))),
      );
    const events: RetryEvent[] = [];
    const options: RetryOptions = {
      policy: { ...quick, timeoutMs: 50, maxAttempts: 2 },
      effects: time,
      observe: (event) => events.push(event),
    };
    const ended = await outcome(time, withRetry('call', fn, options));
    late[0]?.('value');
    late[1]?.('error');
    expect(ended).toMatchObject({ error: { code: 'RETRY_STOPPED', cause: { code: 'ATTEMPT_TIMEOUT' } } });
    expect(events.filter((event) => event.type === 'attempt-abandoned')).toMatchObject([
      { attempt: 1, latencyMs: 50 },
      { attempt: 2, latencyMs: 50 },
    ]);
    expect(time.now().monoMs).toBe(200);
  });

  test('a function that ends when told to is not called abandoned', async () => {
    const time = virtualTime();
    const events: string[] = [];
    await outcome(
      time,
      withRetry('call', hangs, {
        policy: { ...quick, timeoutMs: 50 },
        effects: time,
        observe: (event) => events.push(event.type),
      }),
    );
    expect(events).not.toContain('attempt-abandoned');
  });

  test('are told from an abort error that the function makes of them', async () => {
    const time = virtualTime();
    const fn = ({ signal }: AttemptContext): Promise<never> =>
      new Promise((_, no) => signal.addEventListener('abort', () => no(new DOMException('aborted', 'AbortError'))));
    const running = withRetry('call', fn, { policy: { ...quick, timeoutMs: 50, maxAttempts: 1 }, effects: time });
    expect(await outcome(time, running)).toMatchObject({ error: { code: 'ATTEMPT_TIMEOUT' } });
  });

  test('a signal looked at after the timeout is aborted already', async () => {
    const time = virtualTime();
    let look: (() => AbortSignal) | undefined;
    const fn = (ctx: AttemptContext): Promise<never> => {
      look = () => ctx.signal;
      return new Promise(() => undefined);
    };
    await outcome(time, withRetry('call', fn, { policy: { maxAttempts: 1, timeoutMs: 50 }, effects: time }));
    expect(look?.().aborted).toBe(true);
  });

  test('longer than 2^31 ms do not fire early [F.5]', async () => {
    const time = virtualTime();
    const timeoutMs = 2 ** 31 + 10_000;
    await outcome(time, withRetry('call', hangs, { policy: { maxAttempts: 1, timeoutMs }, effects: time }));
    expect(time.now().monoMs).toBe(timeoutMs);
  });
});

describe('the elapsed budget', () => {
  test('ends a running attempt too', async () => {
    const time = virtualTime();
    let attempts = 0;
    const fn = (ctx: AttemptContext): Promise<never> => {
      attempts += 1;
      const failsAtMs = attempts === 1 ? 9_000 : Infinity;
      return new Promise((_, no) => {
        if (failsAtMs !== Infinity) time.setTimer(() => no(unavailable()), failsAtMs);
        ctx.signal.addEventListener('abort', () => no(ctx.signal.reason));
      });
    };
    const policy = { maxElapsedMs: 10_000, timeoutMs: 10_000, baseDelayMs: 500, jitter: false };
    const ended = await outcome(time, withRetry('call', fn, { policy, effects: time }));
    expect(ended).toMatchObject({
      error: { code: 'RETRY_STOPPED', details: { reason: 'elapsed-budget', attempts: 2 } },
    });
    expect(time.now().monoMs).toBe(10_000);
  });
});

describe('an elapsed budget without waits', () => {
  test('ends with the attempt that it cut short, also where no timeout bounds the attempts', async () => {
    const time = virtualTime();
    let calls = 0;
    const fn = (): Promise<never> => {
      calls += 1;
      return new Promise(() => undefined);
    };
    const policy = { maxElapsedMs: 1_000, timeoutMs: Infinity, baseDelayMs: 0, maxDelayMs: 0 };
    const ended = await outcome(time, withRetry('call', fn, { policy, effects: time }));
    expect(ended).toMatchObject({ error: { details: { reason: 'elapsed-budget', attempts: 1 } } });
    expect([calls, time.now().monoMs]).toEqual([1, 1_000]);
  });
});

describe('the deadline', () => {
  test('aborts a running attempt and is named as the reason', async () => {
    const time = virtualTime({ wallMs: EPOCH });
    const fn = (ctx: AttemptContext): Promise<never> =>
      new Promise((_, no) => ctx.signal.addEventListener('abort', () => no(ctx.signal.reason)));
    const ended = await outcome(time, withRetry('call', fn, { deadlineAt: EPOCH + 3_000, effects: time }));
    expect(ended).toMatchObject({
      error: { code: 'RETRY_STOPPED', details: { reason: 'deadline' }, cause: { code: 'DEADLINE_PASSED' } },
    });
    expect(time.now().monoMs).toBe(3_000);
  });

  test('stops before a wait that would end after it', async () => {
    const time = virtualTime({ wallMs: EPOCH });
    const { fn, seen } = scripted([unavailable(), unavailable()], 1);
    const ended = await outcome(
      time,
      withRetry('call', fn, { policy: quick, deadlineAt: new Date(EPOCH + 150), effects: time }),
    );
    expect(ended).toMatchObject({
      error: { code: 'RETRY_STOPPED', details: { reason: 'deadline', attempts: 2, waitedMs: 100 } },
    });
    expect(seen).toHaveLength(2);
    expect(time.now().monoMs).toBe(100);
  });

  test('stops a resumed operation before a wait that would end after it', async () => {
    const time = virtualTime({ wallMs: EPOCH });
    const state = {
      v: 1 as const,
      attempts: 1,
      waitedMs: 9,
      lastDelayMs: 3_600_000,
      startedAt: { wallMs: EPOCH, monoMs: 0 },
    };
    const options = { resumeFrom: { ...state, dueAtMs: EPOCH + 3_600_000 }, deadlineAt: EPOCH + 1_000, effects: time };
    const ended = await outcome(
      time,
      withRetry('call', () => 1, options),
    );
    expect(ended).toMatchObject({ error: { code: 'RETRY_STOPPED', details: { reason: 'deadline' } } });
    expect(time.now().monoMs).toBe(0);
  });

  test('that has passed already lets nothing start', async () => {
    const time = virtualTime({ wallMs: EPOCH + 5_000 });
    const { fn, seen } = scripted([], 1);
    const ended = await outcome(time, withRetry('call', fn, { deadlineAt: EPOCH + 4_000, effects: time }));
    expect(ended).toMatchObject({ error: { code: 'RETRY_STOPPED', details: { reason: 'deadline', attempts: 0 } } });
    expect(seen).toHaveLength(0);
  });
});

test('an error of ours inside another operation is noticed as nested retries', async () => {
  const time = virtualTime();
  const inner = (): Promise<never> =>
    withRetry('inner', () => Promise.reject(unavailable()), { policy: quick, effects: time });
  const seen: RetryEvent[] = [];
  await outcome(
    time,
    withRetry('outer', inner, {
      policy: { ...quick, timeoutMs: Infinity },
      effects: time,
      observe: (event) => seen.push(event),
    }),
  );
  const failed = seen.find((event) => event.type === 'attempt-failed');
  expect(failed?.failure.nestedAttempts).toBe(3);
});

test('the error keeps the stack of the caller', async () => {
  const time = virtualTime();
  async function chargeTheCard(): Promise<unknown> {
    return await withRetry('charge', () => Promise.reject(unavailable()), { policy: quick, effects: time });
  }
  const ended = await outcome(time, chargeTheCard());
  expect('error' in ended && (ended.error as HoldfastError).stack).toContain('chargeTheCard');
});
