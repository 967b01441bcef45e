import { describe, expect, test } from 'vitest';
import { describeEnvelope, envelope } from './envelope.ts';
import { consumer, eventHandler, llmProvider, llmProviderElapsed, serviceCall, webhookDelivery } from './policies.ts';
import { policy } from './policy.ts';
import { constant, exponential, steps } from './schedule.ts';

const delaysOf = (made: Parameters<typeof envelope>[0], attemptMs = 0): readonly number[] =>
  envelope(made, { attemptMs }).waits.map((wait) => wait.delayMs);

describe('the named policies', () => {
  test('a service call: 3 attempts, ceilings 250 and 500 ms, 10 s each, full jitter [S0.1]', () => {
    expect(delaysOf(serviceCall)).toEqual([250, 500]);
    expect(envelope(serviceCall)).toMatchObject({ attempts: 3, totalWaitMs: 750, end: 'attempts' });
    expect(serviceCall).toMatchObject({ timeoutMs: 10_000 });
    expect(serviceCall.schedule.spec).toMatchObject({ maxMs: 5_000, jitter: 'full' });
  });

  test('a consumer: 7 attempts, 250 ms doubling, cap 30 s, full jitter [S1.7]', () => {
    expect(delaysOf(consumer)).toEqual([250, 500, 1_000, 2_000, 4_000, 8_000]);
    expect(envelope(consumer)).toMatchObject({ attempts: 7, end: 'attempts' });
    expect(consumer.schedule.spec).toMatchObject({ maxMs: 30_000, jitter: 'full' });
    expect(consumer.schedule.delayMs(9, { random: 1, lastDelayMs: 0 })).toBe(30_000);
  });

  test('a model provider by waiting: 21 waits, 22 attempts, 27,105 s, 1,695 s unused [S2.1] [F.1]', () => {
    const head = [5, 10, 30, 60, 300, 600, 900, 1_800].map((s) => s * 1_000);
    const plan = envelope(llmProvider);
    expect(plan.waits.map((wait) => wait.delayMs)).toEqual([...head, ...Array.from({ length: 13 }, () => 1_800_000)]);
    expect(plan).toMatchObject({ attempts: 22, totalWaitMs: 27_105_000, end: 'wait-budget' });
    expect(llmProvider.maxWaitMs - plan.totalWaitMs).toBe(1_695_000);
    expect(llmProvider.clock).toBe('wall');
    expect(plan.waits.slice(0, 9).map((wait) => wait.totalMs / 1_000)).toEqual([
      5, 15, 45, 105, 405, 1_005, 1_905, 3_705, 5_505,
    ]);
  });

  test('a model provider by waiting: long attempts change nothing [S2.1]', () => {
    expect(envelope(llmProvider, { attemptMs: 600_000 })).toMatchObject({ attempts: 22, totalWaitMs: 27_105_000 });
  });

  test('a model provider by elapsed time: attempts of ten minutes leave 16 waits [S2.1] [F.1]', () => {
    expect(envelope(llmProviderElapsed)).toMatchObject({
      attempts: 22,
      totalWaitMs: 27_105_000,
      end: 'elapsed-budget',
    });
    const plan = envelope(llmProviderElapsed, { attemptMs: 600_000 });
    // 16 waits and 16 attempts: 18,105 s + 9,600 s = 27,705 s; the next would need 2,400 s more than the 1,095 s left.
    expect(plan).toMatchObject({ attempts: 17, totalWaitMs: 18_105_000, end: 'elapsed-budget' });
  });

  test('a webhook delivery: 6 attempts, 10 s doubling, no jitter [S3.1]', () => {
    expect(delaysOf(webhookDelivery)).toEqual([10_000, 20_000, 40_000, 80_000, 160_000]);
    expect(envelope(webhookDelivery)).toMatchObject({ attempts: 6, end: 'attempts' });
    expect(webhookDelivery.schedule.delayMs(3, { random: 0, lastDelayMs: 0 })).toBe(80_000);
  });

  test('an event handler: 5 attempts with ceilings 1, 2, 4, 8 s, full jitter, capped at 300 s [S4.2]', () => {
    expect(delaysOf(eventHandler)).toEqual([1_000, 2_000, 4_000, 8_000]);
    expect(envelope(eventHandler)).toMatchObject({ attempts: 5, end: 'attempts' });
    const ceilings = Array.from({ length: 11 }, (_, retried) =>
      eventHandler.schedule.delayMs(retried, { random: 1, lastDelayMs: 0 }),
    );
    expect(ceilings).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300].map((s) => s * 1_000));
    expect(eventHandler.schedule.spec).toMatchObject({ jitter: 'full' });
  });
});

describe('envelope', () => {
  test('reads like a sentence', () => {
    expect(describeEnvelope(envelope(llmProvider))).toBe(
      '22 attempts, at most 7 h 31 min 45 s of waiting: 5 s, 10 s, 30 s, 1 min, 5 min, 10 min, 15 min, 30 min, 30 min, 30 min, … (ends: wait-budget)',
    );
    expect(describeEnvelope(envelope(policy({ maxAttempts: 1 })))).toBe('1 attempt, no waiting (ends: attempts)');
    expect(describeEnvelope(envelope(policy({ schedule: steps([1_500]) })))).toBe(
      '2 attempts, at most 1.5 s of waiting: 1.5 s (ends: schedule-ended)',
    );
  });

  test('writes out plans of thousands of attempts, and takes options', () => {
    expect(envelope({ maxAttempts: 2_000, schedule: constant(1) })).toMatchObject({
      attempts: 2_000,
      totalWaitMs: 1_999,
      end: 'attempts',
    });
  });

  test('says so when nothing ends the plan', () => {
    const plan = envelope(policy({ schedule: constant(0), maxAttempts: Infinity }));
    expect(plan).toMatchObject({ end: 'endless', attempts: Infinity });
    expect(describeEnvelope(plan)).toContain('no end: 0 ms');
  });

  test('shows the longest delays a jitter allows', () => {
    const plan = envelope(
      policy({ schedule: exponential({ baseMs: 100, maxMs: 1_000, jitter: 'decorrelated' }), maxAttempts: 5 }),
    );
    expect(plan.waits.map((wait) => wait.delayMs)).toEqual([300, 900, 1_000, 1_000]);
  });
});
