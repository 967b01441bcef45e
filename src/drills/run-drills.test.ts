import { describe, expect, test } from 'vitest';
import {
  drill,
  type DrillOptions,
  type DrillReport,
  type DrillRun,
  runDrills,
  type RunDrillsOptions,
} from './index.ts';

type Run = (run: DrillRun) => Promise<unknown>;

const STAGE = { open: async () => undefined };

async function reportOf(
  run: Run,
  options: RunDrillsOptions = {},
  more: Partial<DrillOptions<undefined>> = {},
): Promise<DrillReport> {
  const one = drill('one', { about: 'Something breaks.', stage: STAGE, run: (_, running) => run(running), ...more });
  const [report] = await runDrills([one], { waitMs: 0, ...options });
  if (!report) throw new Error('there is no report');
  return report;
}

const good: Run = async (run) => {
  run.inject('a service is stopped').hit(2);
  run.check('state', 'blocked', 'blocked');
};

describe('a drill', () => {
  test('holds when all that was injected has hit and all that was expected was seen [S0.13]', async () => {
    expect(await reportOf(good)).toMatchObject({
      name: 'one',
      held: true,
      injected: [{ what: 'a service is stopped', hits: 2 }],
      checked: [{ what: 'state', expected: 'blocked', seen: 'blocked', held: true }],
      problem: undefined,
    });
  });

  test.each<[string, Run, string]>([
    [
      'saw something else',
      async (run) => (run.inject('x').hit(), run.check('rows', 1, 2)),
      'one thing is not as expected',
    ],
    [
      'waited in vain',
      async (run) => (run.inject('x').hit(), await run.until('rows', [1], () => [])),
      'one thing is not as expected',
    ],
    ['never hit', async (run) => (run.inject('x'), run.check('rows', 1, 1)), '"x" never hit, so it proves nothing'],
    ['injected nothing', async (run) => run.check('rows', 1, 1), 'it injected nothing, so it proves nothing'],
    ['looked at nothing', async (run) => run.inject('x').hit(), 'it looked at nothing, so it proves nothing'],
    ['threw', () => Promise.reject(new Error('no such run')), 'no such run'],
  ])('that %s does not hold [S0.13]', async (_, run, problem) => {
    expect(await reportOf(run)).toMatchObject({ held: false, problem });
  });

  test('compares as JSON does, whatever the order of fields, and shows what it saw [S0.13]', async () => {
    const { checked } = await reportOf(async (run) => {
      run.check('rows', { a: 1, b: [2] }, { b: [2], a: 1 });
      run.check('error', undefined, null);
      run.judge('tries', { expected: 'at least 3', seen: 9, held: true });
    });
    expect(checked).toEqual([
      { what: 'rows', expected: '{"a":1,"b":[2]}', seen: '{"a":1,"b":[2]}', held: true },
      { what: 'error', expected: 'nothing', seen: 'null', held: false },
      { what: 'tries', expected: 'at least 3', seen: '9', held: true },
    ]);
  });

  test('puts right what it broke, the last first, and closes what was opened once, also when it is stopped [S0.13]', async () => {
    const done: string[] = [];
    const stopping = new AbortController();
    const stage = {
      open: async () => void done.push('opened'),
      close: () => void done.push('closed'),
    };
    const waiting = drill('waiting', {
      about: 'It waits for ever.',
      stage,
      run: async (_, run) => {
        run.after(() => done.push('started again'));
        run.after(() => done.push('healed'));
        stopping.abort();
        await run.until('never', true, () => false);
      },
    });
    const reports = await runDrills([waiting, waiting], { signal: stopping.signal });
    expect(done).toEqual(['opened', 'healed', 'started again', 'closed']);
    expect(reports).toMatchObject([{ held: false, problem: 'it was stopped' }]);
  });

  test('that takes too long, or whose stage does not open, did not hold, and the next has its turn [S0.13]', async () => {
    const slow = drill('slow', { about: 'Slow.', stage: STAGE, timeoutMs: 1, run: () => new Promise(() => undefined) });
    const stage = { open: () => Promise.reject(new Error('no database')) };
    const closed = drill('closed', { about: 'No stage.', stage, run: async () => undefined });
    const next = drill('next', { about: 'The next.', stage: STAGE, run: (_, run) => good(run) });
    const reports = await runDrills([slow, closed, next]);
    expect(reports.map(({ problem }) => problem)).toEqual([
      'it took longer than 1 ms',
      'it could not begin: no database',
      undefined,
    ]);
  });

  test('is declared with a name, a sentence, a stage and a function [S0.13]', () => {
    const problems = (): unknown => drill('Not a name', { about: '' } as never);
    expect(problems).toThrow(expect.objectContaining({ code: 'INVALID_OPTIONS' }));
  });
});
