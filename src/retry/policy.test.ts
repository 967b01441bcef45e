import { describe, expect, test } from 'vitest';
import { isHoldfastError } from '../kernel/error.ts';
import { policy, type PolicyOptions, toPolicy } from './policy.ts';
import { constant, steps } from './schedule.ts';

function problemsOf(options: unknown): Record<string, string> {
  try {
    policy(options as PolicyOptions);
  } catch (error) {
    if (!isHoldfastError(error, 'INVALID_OPTIONS')) throw error;
    return Object.fromEntries(error.details.problems.map((problem) => [problem.option, problem.write]));
  }
  return {};
}

describe('defaults', () => {
  test('are those of a service call [S0.1]', () => {
    const made = policy();
    expect(made).toMatchObject({ maxAttempts: 3, timeoutMs: 10_000, maxWaitMs: Infinity, maxElapsedMs: Infinity });
    expect(made.schedule.spec).toEqual({ kind: 'exponential', baseMs: 250, factor: 2, maxMs: 5_000, jitter: 'full' });
  });

  test('a single field changes only itself [S0.1]', () => {
    expect(policy({ maxAttempts: 9 }).schedule.spec).toEqual(policy().schedule.spec);
    expect(policy({ jitter: false }).schedule.spec).toMatchObject({ baseMs: 250, maxMs: 5_000, jitter: 'none' });
    expect(policy({ maxDelayMs: 100 }).schedule.spec).toMatchObject({ baseMs: 100, maxMs: 100 });
    expect(policy({ baseDelayMs: 60_000 }).schedule.spec).toMatchObject({ baseMs: 60_000, maxMs: 60_000 });
  });

  test('attempts are not limited where something else ends the retries', () => {
    expect(policy({ schedule: steps([1, 2, 3]) }).maxAttempts).toBe(Infinity);
    expect(policy({ schedule: constant(1), maxWaitMs: 10 }).maxAttempts).toBe(Infinity);
    expect(policy({ maxElapsedMs: 60_000 }).maxAttempts).toBe(Infinity);
    expect(policy({ schedule: constant(1) }).maxAttempts).toBe(3);
    expect(policy({ maxWaitMs: Infinity, maxElapsedMs: Infinity }).maxAttempts).toBe(3);
    // Waits of nothing never use up a budget of waiting.
    expect(policy({ maxWaitMs: 1_000, baseDelayMs: 0, maxDelayMs: 0 }).maxAttempts).toBe(3);
    expect(policy({ schedule: steps([1], { tailMs: 2 }) }).maxAttempts).toBe(3);
  });

  test('a policy is frozen and is taken as it is', () => {
    const made = policy();
    expect(Object.isFrozen(made)).toBe(true);
    expect(toPolicy(made)).toBe(made);
    expect(toPolicy({ maxAttempts: 2 }).maxAttempts).toBe(2);
  });
});

describe('options that cannot work', () => {
  test('something that is no object is refused by name', () => {
    expect(problemsOf(null)).toHaveProperty('options');
  });

  test('are all named at once, with what to write [F.6]', () => {
    const problems = problemsOf({
      maxAttempts: 0,
      timeoutMs: Number.NaN,
      baseDelayMs: -5,
      maxWaitMs: -1,
      clock: 'sun',
      jitter: 'some',
    });
    expect(Object.keys(problems).sort()).toEqual([
      'baseDelayMs',
      'clock',
      'jitter',
      'maxAttempts',
      'maxWaitMs',
      'timeoutMs',
    ]);
    expect(problems['maxAttempts']).toContain('from 1');
  });

  test.each([
    ['fractional attempts', { maxAttempts: 2.5 }, 'maxAttempts'],
    ['attempts as text', { maxAttempts: '3' }, 'maxAttempts'],
    ['a timeout of zero', { timeoutMs: 0 }, 'timeoutMs'],
    ['a negative timeout', { timeoutMs: -1 }, 'timeoutMs'],
    ['an infinite delay', { maxDelayMs: Infinity }, 'maxDelayMs'],
    ['a timeout larger than the budget', { timeoutMs: 5_000, maxElapsedMs: 1_000 }, 'timeoutMs'],
    ['a base above the cap', { baseDelayMs: 10, maxDelayMs: 5 }, 'baseDelayMs'],
    ['a schedule and a base', { schedule: constant(1), baseDelayMs: 5 }, 'baseDelayMs'],
    ['something that is no schedule', { schedule: {} }, 'schedule'],
    ['a hint cap below zero', { hint: { maxMs: -1 } }, 'hint.maxMs'],
    ['an unknown hint rule', { hint: { above: 'wait' } }, 'hint.above'],
    ['an unknown hint field', { hint: { max: 1 } }, 'hint.max'],
  ])('%s is refused [F.6]', (_name, options, option) => {
    expect(Object.keys(problemsOf(options))).toEqual([option]);
  });

  test('a misspelt field is answered with the right one', () => {
    expect(problemsOf({ maxAttemps: 3 })).toEqual({ maxAttemps: 'did you mean maxAttempts?' });
    expect(problemsOf({ retries: 3 })['retries']).toContain('known are maxAttempts');
  });
});
