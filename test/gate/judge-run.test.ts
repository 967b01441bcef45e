import { describe, expect, test } from 'vitest';
import { judgeRun, type RunOutcome, type SkipList, type TestOutcome } from '../../scripts/judge-run.ts';

const NO_SKIPS: SkipList = { tests: {}, services: {} };

function outcome(tests: Partial<TestOutcome>[], more: Partial<RunOutcome> = {}): RunOutcome {
  const whole = tests.map((one, i) => ({ file: 'a.test.ts', title: `t${i}`, state: 'passed' as const, ...one }));
  return { tests: whole, broken: [], unhandled: [], interrupted: false, ...more };
}

describe('the verdict on a run', () => {
  test('counts what passed and what failed', () => {
    const verdict = judgeRun(outcome([{}, {}, { state: 'failed' }]), NO_SKIPS, false);
    expect(verdict).toEqual({ passed: 2, failed: 1, skipped: 0, problems: [], notProven: [] });
  });

  test('a skipped test that is not listed is a failure', () => {
    const verdict = judgeRun(outcome([{}, { state: 'skipped' }]), NO_SKIPS, false);
    expect(verdict).toMatchObject({ passed: 1, failed: 1, skipped: 0 });
    expect(verdict.problems).toEqual(['skipped, but not listed in test/skips.json: t1 (a.test.ts)']);
  });

  test('a skipped test that is listed is not proven, with the reason', () => {
    const verdict = judgeRun(
      outcome([{}, { state: 'skipped' }]),
      { tests: { t1: 'no such disk' }, services: {} },
      false,
    );
    expect(verdict).toEqual({ passed: 1, failed: 0, skipped: 1, problems: [], notProven: ['t1: no such disk'] });
  });

  test('a listed test that ran, or that is gone, is a failure', () => {
    const verdict = judgeRun(outcome([{}]), { tests: { t0: 'x', gone: 'y' }, services: {} }, false);
    expect(verdict.failed).toBe(2);
    expect(verdict.problems).toEqual([expect.stringContaining('t0'), expect.stringContaining('gone')]);
  });

  test('a test that lacks a listed service is not proven; one that lacks another service is a failure', () => {
    const skips = { tests: {}, services: { redis: 'may be absent on a laptop' } };
    const lacks = (name: string): Partial<TestOutcome> => ({ state: 'skipped', note: `needs ${name}: start it` });
    expect(judgeRun(outcome([{}, lacks('redis')]), skips, false)).toMatchObject({
      failed: 0,
      skipped: 1,
      notProven: ['t1: needs redis: start it'],
    });
    expect(judgeRun(outcome([{}, lacks('kafka')]), skips, false)).toMatchObject({ failed: 1, skipped: 0 });
    expect(judgeRun(outcome([{}, lacks('kafka')]), skips, true)).toMatchObject({ failed: 1, skipped: 0 });
  });

  test('a run of chosen tests may leave others out', () => {
    const verdict = judgeRun(outcome([{}, { state: 'skipped' }]), { tests: { gone: 'x' }, services: {} }, true);
    expect(verdict).toMatchObject({ passed: 1, failed: 0, problems: [] });
  });

  test('a file that cannot be loaded, a stray error, an interruption and tests that never ran are failures', () => {
    expect(
      judgeRun(outcome([{}], { broken: [{ file: 'b.test.ts', message: 'no\nway' }] }), NO_SKIPS, false),
    ).toMatchObject({
      failed: 1,
      problems: ['could not run: b.test.ts: no'],
    });
    expect(judgeRun(outcome([{}], { unhandled: ['late'] }), NO_SKIPS, false).failed).toBe(1);
    expect(judgeRun(outcome([{}], { interrupted: true }), NO_SKIPS, false).failed).toBe(1);
    expect(judgeRun(outcome([{}, { state: 'pending' }]), NO_SKIPS, false).failed).toBe(1);
  });

  test('a run in which no test ran is a failure', () => {
    expect(judgeRun(outcome([]), NO_SKIPS, false)).toMatchObject({ failed: 1, problems: ['no test ran'] });
    expect(judgeRun(outcome([{ state: 'skipped' }]), { tests: { t0: 'x' }, services: {} }, false).failed).toBe(1);
  });
});
