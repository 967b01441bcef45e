import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished } from 'vitest';
import { needs } from '../support/needs.ts';
import { moduleRun } from './module-run.ts';
import { type CommandService, commandService } from './runs.ts';

const test = needs('postgres');
const PROGRAM = fileURLToPath(new URL('module-process.ts', import.meta.url));

interface Worker {
  readonly child: ChildProcess;
  /** Resolves with the line that begins with this word. */
  says(word: string): Promise<string>;
}

function startWorker({ schema }: CommandService, url: string): Worker {
  const child = spawn(process.execPath, [PROGRAM, url, schema], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  const said: string[] = [];
  createInterface(child.stdout).on('line', (line) => said.push(line));
  return {
    child,
    says: async (word) => {
      await expect.poll(() => said.some((line) => line.startsWith(word))).toBe(true);
      return said.find((line) => line.startsWith(word)) ?? '';
    },
  };
}

test('commands of one run never overlap over two processes and stay in order, runs go on side by side, and a killed process loses nothing [S0.7] [X.3]', async ({
  postgres,
}) => {
  const here = await commandService(postgres);
  const run = moduleRun();
  await here.pool.query(`create table "${here.schema}".busy (run text primary key, pid int);
    create table "${here.schema}".hung (id text primary key);
    create table "${here.schema}".visit (n int generated always as identity, run text, module text, pid int)`);
  const workers = [startWorker(here, postgres.url), startWorker(here, postgres.url)];
  await Promise.all(workers.map(({ says }) => says('ready')));
  await expect.poll(() => here.column('select count(distinct owner)::int from $.lease where unit >= 0')).toEqual([2]);

  const [runs, modules] = [8, ['first', 'second', 'third', 'fourth']];
  const ids: string[] = [];
  for (const moduleId of modules)
    for (let n = 0; n < runs; n += 1) ids.push(await here.send(run, { runId: `run_${n}`, moduleId }));
  for (const id of ids) expect(await here.commands.wait(id)).toMatchObject({ kind: 'done' });
  expect(await here.column(`select distinct to_state from $.command_event order by 1`)).toEqual([
    'done',
    'queued',
    'running',
  ]);
  expect(await here.column(`select string_agg(module, ' ' order by n) from $.visit group by run`)).toEqual(
    Array.from({ length: runs }, () => modules.join(' ')),
  );
  expect(await here.column('select count(distinct pid)::int from $.visit')).toEqual([2]);

  const id = await here.send(run, { runId: 'run_0', moduleId: 'hangs' });
  const after = await here.send(run, { runId: 'run_0', moduleId: 'after' });
  const hung = await Promise.race(
    workers.map(async (worker) => {
      await worker.says(`hangs ${id}`);
      return worker;
    }),
  );
  hung.child.kill('SIGKILL');
  expect(await here.commands.wait(after, { timeoutMs: 120_000 })).toMatchObject({ kind: 'done' });
  expect(await here.story(id)).toBe('queued running:1 retry_wait:1!PROCESS_LOST running:1 done:1');
  expect(await here.commands.get(id)).toMatchObject({ attempts: 1, answer: { pid: expect.any(Number) } });
  expect(await here.column(`select pid <> ${hung.child.pid} from $.visit where module = 'hangs'`)).toEqual([true]);
});
