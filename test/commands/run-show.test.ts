import { expect } from 'vitest';
import { runHere } from '../cli/run-here.ts';
import { needs } from '../support/needs.ts';
import { moduleRun } from './module-run.ts';
import { commandService } from './runs.ts';

const test = needs('postgres');

test('run:show tells where each module of a run stands and how it goes on, and follows it to its end [S0.7]', async ({
  postgres,
}) => {
  const here = await commandService(postgres);
  const env = { HOLDFAST_DATABASE_URL: postgres.url, HOLDFAST_SCHEMA: here.schema };
  const cli = (...args: string[]): ReturnType<typeof runHere> => runHere(args, { env });
  const run = moduleRun('blocked', 1);
  let isBroken = true;
  here.commands.handle(run, async ({ moduleId }) => {
    if (isBroken && moduleId !== 'interview') throw new Error(`no ${moduleId}\u001B[2J`);
  });
  const [, plan, document] = [
    await here.send(run, { runId: 'run_1', moduleId: 'interview' }),
    await here.send(run, { runId: 'run_1', moduleId: 'plan' }),
    await here.send(run, { runId: 'run_1', moduleId: 'document' }),
  ];
  const relay = await here.start();
  await here.commands.wait(plan);
  const shown = await cli('run:show', 'run_1');
  expect(shown.out).toMatch(/^MODULE +STATE +TRIES +REPLAYS +SINCE +COMMAND +ERROR$/m);
  expect(shown.out).toMatch(/^interview +done +1 +0 /m);
  expect(shown.out).toMatch(new RegExp(`^plan +blocked +1 +0 .* ${plan} +Error: no plan`, 'm'));
  expect(shown.out).toMatch(/^document +queued +0 +0 /m);
  expect(shown.out).toContain(`holdfast dlq:replay --id ${plan} runs it again; dlq:discard gives it up.`);
  expect(shown.out).not.toContain('\u001B');
  expect(JSON.parse((await cli('run:show', 'run_1', '--json')).out)).toMatchObject({
    target: 'run_1',
    modules: [{ state: 'done', error: null }, { state: 'blocked' }, { state: 'queued', closedAt: null }],
    commands: [{ correlation: { requestId: 'r-1' } }, {}, {}],
  });
  expect(await cli('run:show', 'run_2')).toMatchObject({ code: 1, err: /no command was sent to "run_2"/ });
  expect((await cli('run:show', 'run_1', '--service', 'billing')).code).toBe(1);

  isBroken = false;
  const followed = cli('run:show', 'run_1', '--follow');
  expect((await cli('dlq:replay', '--id', plan)).code).toBe(0);
  await here.commands.wait(document);
  const { out, code } = await followed;
  expect(code).toBe(0);
  const lines = out.trimEnd().split('\n');
  expect(lines.filter((line) => line.includes('  plan  ')).map((line) => line.slice('00:00:00.000  '.length))).toEqual([
    'plan  queued',
    'plan  queued → running  attempt 1',
    expect.stringMatching(/^plan {2}running → blocked {2}attempt 1, Error: no plan/),
    'plan  blocked → queued  by tester@here',
    'plan  queued → running  attempt 1',
    'plan  running → done  attempt 1',
  ]);
  await relay.stop();
  const more = await here.send(run, { runId: 'run_1', moduleId: 'more' });
  expect((await cli('dlq:discard', '--id', more, '--open', '--yes', '--reason', 'not wanted')).code).toBe(0);
  expect((await cli('run:show', 'run_1')).out).toMatch(/^more +queued, given up /m);
  const json = await cli('run:show', 'run_1', '--follow', '--json');
  expect(json.out.trimEnd().split('\n')).toHaveLength(14);
  for (const line of json.out.trimEnd().split('\n')) expect(JSON.parse(line)).toHaveProperty('idempotencyKey');
});
