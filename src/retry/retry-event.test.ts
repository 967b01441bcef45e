import { describe, expect, test } from 'vitest';
import type { LogFields } from '../kernel/log.ts';
import { virtualTime } from '../testing/virtual-time.ts';
import { countRetries } from './count-retries.ts';
import type { RetryEvent } from './retry-event.ts';
import { constant } from './schedule.ts';
import { withRetry } from './with-retry.ts';

const unavailable = (): Error => Object.assign(new Error('secret token in the text'), { status: 503, code: 'EDOWN' });
const quick = { schedule: constant(100) };

function failing(times: number): () => Promise<string> {
  let left = times;
  return () => (left-- > 0 ? Promise.reject(unavailable()) : Promise.resolve('ok'));
}

describe('events', () => {
  test('come in order: one wait for each retry, each closed, none after the last failure [F.24]', async () => {
    const time = virtualTime();
    const events: RetryEvent[] = [];
    const observe = (event: RetryEvent): void => void events.push(event);
    await time.settle(withRetry('call', failing(3), { policy: quick, effects: time, observe }).catch(() => undefined));
    expect(events.map((event) => `${event.type} ${event.attempt}`)).toEqual([
      'attempt-started 1',
      'attempt-failed 1',
      'wait-started 1',
      'wait-ended 1',
      'attempt-started 2',
      'attempt-failed 2',
      'wait-started 2',
      'wait-ended 2',
      'attempt-started 3',
      'attempt-failed 3',
      'stopped 3',
    ]);
    const due = events
      .filter((event) => event.type === 'wait-started')
      .map((event) => event.dueAtMs - Date.UTC(2026, 0, 1));
    expect(due).toEqual([100, 200]);
  });

  test('an observer that throws changes nothing [F.24]', async () => {
    const time = virtualTime();
    const observe = (): void => {
      throw new Error('observer bug');
    };
    expect(await time.settle(withRetry('call', failing(1), { policy: quick, effects: time, observe }))).toBe('ok');
  });

  test('an aborted wait is closed as aborted [F.24]', async () => {
    const time = virtualTime();
    const caller = new AbortController();
    const events: RetryEvent[] = [];
    const running = withRetry('call', failing(1), {
      policy: quick,
      effects: time,
      signal: caller.signal,
      observe: (event) => events.push(event),
    });
    await time.advance(50);
    caller.abort('stop');
    await expect(running).rejects.toBe('stop');
    expect(events.slice(-2)).toMatchObject([
      { type: 'wait-ended', aborted: true },
      { type: 'stopped', reason: 'aborted', attempts: 1 },
    ]);
  });
});

describe('log lines', () => {
  async function linesOf(
    options: { logFields?: LogFields; idempotencyKey?: string },
    times: number,
  ): Promise<[string, LogFields, string][]> {
    const time = virtualTime();
    const lines: [string, LogFields, string][] = [];
    const at = (level: string) => (fields: LogFields, message: string) => void lines.push([level, fields, message]);
    const logger = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
    await time.settle(
      withRetry('charge', failing(times), { ...options, policy: quick, effects: time, logger }).catch(() => undefined),
    );
    return lines;
  }

  test('one for each attempt, wait and stop, with every field that is known [S0.1] [S0.12]', async () => {
    const lines = await linesOf({ logFields: { requestId: 'r1', userId: 'u1' }, idempotencyKey: 'k1' }, 3);
    expect(lines.map(([level, , message]) => `${level}: ${message}`)).toEqual([
      'warn: attempt failed',
      'warn: waiting before the next attempt',
      'warn: attempt failed',
      'warn: waiting before the next attempt',
      'warn: attempt failed',
      'error: operation gave up',
    ]);
    expect(lines[0]?.[1]).toEqual({
      requestId: 'r1',
      userId: 'u1',
      operation: 'charge',
      attempt: 1,
      maxAttempts: 3,
      idempotencyKey: 'k1',
      latencyMs: 0,
      retryable: true,
      errorKind: 'overload',
      httpStatus: 503,
      errorCode: 'EDOWN',
      errorClass: 'Error',
    });
    expect(lines[1]?.[1]).toMatchObject({ delayMs: 100, dueAt: '2026-01-01T00:00:00.100Z', delayFrom: 'schedule' });
    expect(lines.at(-1)?.[1]).toMatchObject({ reason: 'attempts', attempts: 3, waitedMs: 200 });
  });

  test('never hold the text of an error [S0.12]', async () => {
    expect(JSON.stringify(await linesOf({}, 3))).not.toContain('secret');
  });

  test('a call that goes well writes one at debug', async () => {
    expect((await linesOf({}, 0)).map(([level, , message]) => `${level}: ${message}`)).toEqual([
      'debug: attempt succeeded',
    ]);
  });
});

describe('counters', () => {
  test('count attempts, waits, stops, and errors no rule knows on their own [S0.2]', async () => {
    const time = virtualTime();
    const { observe, read } = countRetries();
    await time.settle(withRetry('a', failing(1), { policy: quick, effects: time, observe }));
    await withRetry('b', () => Promise.reject(new Error('what is this')), { observe }).catch(() => undefined);
    expect(Object.fromEntries(read())).toEqual({
      'retry_attempts_total{operation="a"}': 2,
      'retry_waits_total{operation="a",from="schedule"}': 1,
      'retry_attempts_total{operation="b"}': 1,
      'retry_unknown_errors_total{operation="b"}': 1,
      'retry_stopped_total{operation="b",reason="not-retryable"}': 1,
    });
  });
});
