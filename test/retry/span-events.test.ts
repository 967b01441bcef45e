import { describe, expect, test } from 'vitest';
import { constant, withRetry } from '../../src/index.ts';
import { virtualTime } from '../../src/testing/virtual-time.ts';
import { outcome, scripted, unavailable } from '../support/scripted.ts';
import { realTracing } from '../support/spans.ts';

const spanOf = realTracing();

describe('with the real OpenTelemetry API and SDK', () => {
  test('each attempt, wait and stop is an event on the active span [S0.1]', async () => {
    const time = virtualTime();
    const { fn } = scripted([unavailable(), unavailable()], 'never');
    const options = { policy: { schedule: constant(100), maxAttempts: 2 }, idempotencyKey: 'k', effects: time };
    const span = await spanOf(() => outcome(time, withRetry('charge', fn, options)));
    expect(span.events.map((event) => event.name)).toEqual([
      'retry.attempt-failed',
      'retry.wait-started',
      'retry.wait-ended',
      'retry.attempt-failed',
      'retry.stopped',
    ]);
    expect(span.events[0]?.attributes).toMatchObject({
      operation: 'charge',
      attempt: 1,
      httpStatus: 503,
      retryable: true,
      idempotencyKey: 'k',
    });
    expect(span.events.at(-1)?.attributes).toMatchObject({ reason: 'attempts', attempts: 2, waitedMs: 100 });
  });

  test('a span is not marked as an error after a late success [F.25]', async () => {
    const time = virtualTime();
    const { fn } = scripted([unavailable()], 'ok');
    const span = await spanOf(() =>
      time.settle(withRetry('charge', fn, { policy: { schedule: constant(1) }, effects: time })),
    );
    expect(span.status.code).toBe(0);
    expect(span.events.at(-1)?.name).toBe('retry.attempt-succeeded');
  });
});
