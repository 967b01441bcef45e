import { describe, expect, test } from 'vitest';
import { type HoldfastError, isHoldfastError } from '../kernel/error.ts';
import { notFound, outcome, scripted, unavailable } from '../../test/support/scripted.ts';
import { virtualTime } from '../testing/virtual-time.ts';
import type { AttemptContext } from './attempt.ts';
import { policy } from './policy.ts';
import type { RetryEvent } from './retry-event.ts';
import type { RetryOptions } from './retry-options.ts';
import { constant, steps } from './schedule.ts';
import { withRetry } from './with-retry.ts';

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

describe('the deadline', () => {
  test('aborts a running attempt and is named as the reason', async () => {
    const time = virtualTime({ wallMs: 0 });
    const fn = (ctx: AttemptContext): Promise<never> =>
      new Promise((_, no) => ctx.signal.addEventListener('abort', () => no(ctx.signal.reason)));
    const ended = await outcome(time, withRetry('call', fn, { deadlineAt: 3_000, effects: time }));
    expect(ended).toMatchObject({
      error: { code: 'RETRY_STOPPED', details: { reason: 'deadline' }, cause: { code: 'DEADLINE_PASSED' } },
    });
    expect(time.now().monoMs).toBe(3_000);
  });

  test('stops before a wait that would end after it', async () => {
    const time = virtualTime({ wallMs: 0 });
    const { fn, seen } = scripted([unavailable(), unavailable()], 1);
    const ended = await outcome(
      time,
      withRetry('call', fn, { policy: quick, deadlineAt: new Date(150), effects: time }),
    );
    expect(ended).toMatchObject({
      error: { code: 'RETRY_STOPPED', details: { reason: 'deadline', attempts: 2, waitedMs: 100 } },
    });
    expect(seen).toHaveLength(2);
    expect(time.now().monoMs).toBe(100);
  });

  test('that has passed already lets nothing start', async () => {
    const time = virtualTime({ wallMs: 5_000 });
    const { fn, seen } = scripted([], 1);
    const ended = await outcome(time, withRetry('call', fn, { deadlineAt: 4_000, effects: time }));
    expect(ended).toMatchObject({ error: { code: 'RETRY_STOPPED', details: { reason: 'deadline', attempts: 0 } } });
    expect(seen).toHaveLength(0);
  });
});

describe('odd values', () => {
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
    const kept = JSON.parse(JSON.stringify(ended.error.details.state));
    const again = scripted([unavailable()], 'ok');
    const more = policy({ schedule: steps([1_000, 2_000, 3_000, 4_000]) });
    expect(await time.settle(withRetry('call', again.fn, { policy: more, resumeFrom: kept, effects: time }))).toBe(
      'ok',
    );
    expect(again.seen.map((ctx) => ctx.attempt)).toEqual([4, 5]);
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
