import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decide } from './decide.ts';
import type { Failure } from './failure.ts';
import { policy, type Policy } from './policy.ts';
import { constant, exponential, steps } from './schedule.ts';
import type { RetryState } from '../kernel/retry-state.ts';
import { initialState, resume } from './state.ts';

const start = { wallMs: 1_000_000, monoMs: 0 };
const fails: Failure = { verdict: 'retry', kind: 'network' };
const at = (ms: number): { wallMs: number; monoMs: number } => ({ wallMs: start.wallMs + ms, monoMs: ms });
const after = (attempts: number, waitedMs = 0): RetryState => ({ ...initialState(start), attempts, waitedMs });

describe('decide', () => {
  test('waits after a failure worth another attempt', () => {
    const decision = decide(policy({ schedule: constant(100) }), initialState(start), fails, at(5), 0);
    expect(decision).toEqual({
      kind: 'wait',
      delayMs: 100,
      from: 'schedule',
      hintClamped: false,
      state: {
        v: 1,
        attempts: 1,
        waitedMs: 100,
        lastDelayMs: 100,
        startedAt: start,
        firstFailedAtMs: start.wallMs + 5,
        dueAtMs: start.wallMs + 105,
      },
    });
  });

  test('stops at once, with the reason, when the failure is final', () => {
    const p = policy();
    expect(decide(p, after(0), { verdict: 'fail', kind: 'auth' }, at(0), 0)).toMatchObject({
      kind: 'stop',
      reason: 'not-retryable',
    });
    expect(decide(p, after(0), { verdict: 'fail', kind: 'http', reason: 'server-said-no' }, at(0), 0)).toMatchObject({
      reason: 'server-said-no',
    });
  });

  test('counts the first attempt among the attempts [S0.1]', () => {
    const p = policy({ maxAttempts: 3 });
    expect(decide(p, after(0), fails, at(0), 0).kind).toBe('wait');
    expect(decide(p, after(1), fails, at(0), 0).kind).toBe('wait');
    expect(decide(p, after(2), fails, at(0), 0)).toMatchObject({
      kind: 'stop',
      reason: 'attempts',
      state: { attempts: 3 },
    });
  });

  test('stops when the schedule ends', () => {
    const p = policy({ schedule: steps([1]) });
    expect(decide(p, after(1), fails, at(0), 0)).toMatchObject({ kind: 'stop', reason: 'schedule-ended' });
  });

  test('takes a wait that ends exactly at the limit, and not one a millisecond longer [F.2]', () => {
    const waiting = policy({ schedule: constant(100), maxWaitMs: 300 });
    expect(decide(waiting, after(2, 200), fails, at(0), 0).kind).toBe('wait');
    expect(decide(waiting, after(2, 201), fails, at(0), 0)).toMatchObject({ kind: 'stop', reason: 'wait-budget' });
    const elapsed = policy({ schedule: constant(100), maxElapsedMs: 300 });
    expect(decide(elapsed, after(2), fails, at(200), 0).kind).toBe('wait');
    expect(decide(elapsed, after(2), fails, at(201), 0)).toMatchObject({ kind: 'stop', reason: 'elapsed-budget' });
  });

  test('never shortens a wait into a burst at the edge of the budget [F.3]', () => {
    const p = policy({ schedule: constant(60), maxElapsedMs: 100 });
    const first = decide(p, after(0), fails, at(0), 0);
    expect(first).toMatchObject({ kind: 'wait', delayMs: 60 });
    expect(decide(p, first.state, fails, at(60), 0)).toMatchObject({
      kind: 'stop',
      reason: 'elapsed-budget',
      state: { attempts: 2 },
    });
  });
});

describe('server hints', () => {
  const hinted = (afterMs: number): Failure => ({ ...fails, hint: { afterMs, source: 'retry-after' } });

  test('are a floor under the schedule, never a short cut [F.18]', () => {
    const p = policy({ schedule: constant(1_000) });
    expect(decide(p, after(0), hinted(5_000), at(0), 0)).toMatchObject({ delayMs: 5_000, from: 'hint' });
    expect(decide(p, after(0), hinted(10), at(0), 0)).toMatchObject({ delayMs: 1_000, from: 'schedule' });
  });

  test('are cut to the cap, and that is recorded [F.18]', () => {
    const p = policy({ schedule: constant(1), hint: { maxMs: 2_000 } });
    expect(decide(p, after(0), hinted(1e12), at(0), 0)).toMatchObject({
      delayMs: 2_000,
      from: 'hint',
      hintClamped: true,
    });
  });

  test('above the cap stop the operation where the policy says so [F.18]', () => {
    const p = policy({ schedule: constant(1), hint: { maxMs: 2_000, above: 'stop' } });
    expect(decide(p, after(0), hinted(2_001), at(0), 0)).toMatchObject({ kind: 'stop', reason: 'hint-above-cap' });
    expect(decide(p, after(0), hinted(2_000), at(0), 0).kind).toBe('wait');
  });

  test('that do not fit the budget stop at once with a reason of their own [F.19]', () => {
    const waiting = policy({ schedule: constant(1), maxWaitMs: 1_000, maxAttempts: 9 });
    expect(decide(waiting, after(0), hinted(1_001), at(0), 0)).toMatchObject({
      kind: 'stop',
      reason: 'hint-exceeds-budget',
      state: { waitedMs: 0 },
    });
    const elapsed = policy({ schedule: constant(1), maxElapsedMs: 1_000 });
    expect(decide(elapsed, after(0), hinted(900), at(101), 0)).toMatchObject({
      kind: 'stop',
      reason: 'hint-exceeds-budget',
    });
  });
});

describe('clocks', () => {
  const monotonic = policy({ schedule: constant(10), maxElapsedMs: 60_000 });
  const wall = policy({ schedule: constant(10), maxElapsedMs: 60_000, clock: 'wall' });

  test('the monotonic policy does not notice the wall clock jump either way [F.20]', () => {
    for (const jump of [-3_600_000, 3_600_000]) {
      const now = { wallMs: start.wallMs + jump, monoMs: 1_000 };
      expect(decide(monotonic, after(1), fails, now, 0).kind).toBe('wait');
    }
  });

  test('the wall policy counts a suspended hour, and a clock set back counts as no time [F.20]', () => {
    expect(decide(wall, after(1), fails, { wallMs: start.wallMs + 3_600_000, monoMs: 1_000 }, 0)).toMatchObject({
      reason: 'elapsed-budget',
    });
    expect(decide(wall, after(1), fails, { wallMs: start.wallMs - 3_600_000, monoMs: 1_000 }, 0).kind).toBe('wait');
  });

  test('a clock set back gives no time back [F.20]', () => {
    const tooLong = policy({ schedule: constant(61_000), maxElapsedMs: 60_000, clock: 'wall' });
    const now = { wallMs: start.wallMs - 3_600_000, monoMs: 1_000 };
    expect(decide(tooLong, after(1), fails, now, 0)).toMatchObject({ reason: 'elapsed-budget' });
  });
});

describe('kept state', () => {
  test('goes on in another process where it stood [F.21]', () => {
    const p = policy({ schedule: steps([1_000, 5_000, 30_000]) });
    const first = decide(p, initialState(start), fails, at(0), 0);
    const kept: RetryState = JSON.parse(JSON.stringify(first.state));
    const elsewhere = { wallMs: start.wallMs + 400, monoMs: 77 };
    const taken = resume(kept, elsewhere);
    expect(taken.waitMs).toBe(600);
    const second = decide(p, taken.state, fails, { wallMs: start.wallMs + 1_000, monoMs: 677 }, 0);
    expect(second).toMatchObject({ kind: 'wait', delayMs: 5_000, state: { attempts: 2, waitedMs: 6_000 } });
  });

  test('that is overdue runs at once, and its elapsed time is not forgotten [F.21]', () => {
    const p = policy({ schedule: constant(1_000), maxElapsedMs: 60_000 });
    const first = decide(p, initialState(start), fails, at(0), 0);
    const taken = resume(first.state, { wallMs: start.wallMs + 59_500, monoMs: 3 });
    expect(taken.waitMs).toBe(0);
    expect(decide(p, taken.state, fails, { wallMs: start.wallMs + 59_600, monoMs: 103 }, 0)).toMatchObject({
      reason: 'elapsed-budget',
    });
  });

  test('with a wall clock set back waits no longer than it had to [F.21]', () => {
    const first = decide(policy({ schedule: constant(1_000) }), initialState(start), fails, at(0), 0);
    expect(resume(first.state, { wallMs: start.wallMs - 3_600_000, monoMs: 0 }).waitMs).toBe(1_000);
  });
});

describe('properties', () => {
  const policies: fc.Arbitrary<Policy> = fc
    .record({
      baseMs: fc.nat(10_000),
      spanMs: fc.nat(100_000),
      jitter: fc.constantFrom('full' as const, 'equal' as const, 'decorrelated' as const, 'none' as const),
      maxAttempts: fc.integer({ min: 1, max: 50 }),
      maxWaitMs: fc.nat(1_000_000),
      maxElapsedMs: fc.integer({ min: 1, max: 1_000_000 }),
    })
    .map(({ baseMs, spanMs, jitter, ...limits }) =>
      policy({ ...limits, schedule: exponential({ baseMs, maxMs: baseMs + spanMs, jitter }), timeoutMs: Infinity }),
    );
  const hints = fc.option(fc.nat(200_000), { nil: undefined });

  test('no run ever exceeds its attempts, its waiting or its time [S0.1]', () => {
    fc.assert(
      fc.property(
        policies,
        fc.array(fc.tuple(fc.double({ min: 0, max: 0.999, noNaN: true }), hints, fc.nat(5_000)), {
          minLength: 60,
          maxLength: 60,
        }),
        (p, script) => {
          let state = initialState(start);
          let nowMs = 0;
          for (const [random, afterMs, attemptMs] of script) {
            nowMs += attemptMs;
            const failure = afterMs === undefined ? fails : { ...fails, hint: { afterMs, source: 'retry-after' } };
            const decision = decide(p, state, failure, at(nowMs), random);
            expect(decide(p, JSON.parse(JSON.stringify(state)), failure, at(nowMs), random)).toEqual(decision);
            state = decision.state;
            expect(state.attempts).toBeLessThanOrEqual(p.maxAttempts);
            expect(state.waitedMs).toBeLessThanOrEqual(p.maxWaitMs);
            if (decision.kind === 'stop') return;
            expect(Number.isInteger(decision.delayMs)).toBe(true);
            nowMs += decision.delayMs;
            expect(nowMs).toBeLessThanOrEqual(p.maxElapsedMs);
          }
        },
      ),
    );
  });
});
