import { execFile } from 'node:child_process';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import type { Board } from '../../examples/local-page/board-state.ts';
import { run } from '../agent-chat/process.ts';
import { dataFolder } from '../embedded/data-folder.ts';
import { needs } from '../support/needs.ts';

const test = needs('embeddedPostgres');
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

test('npm start -- substrate stays up with a page, and its commands make a dead letter and replay it into the next generation [S4.4] [S4.5]', async ({
  embeddedPostgres,
}) => {
  expect(embeddedPostgres.url).not.toBe('');
  const data = dataFolder();
  const env = { PORT: '0', HOLDFAST_SUBSTRATE_DATA: data, DATABASE_URL: '' };
  const program = run('../../scripts/start.ts', ['event-substrate'], env);
  const output = await program.until(/Stop {5}Ctrl-C/);
  const url = /Open +(\S+)/.exec(output)?.[1] ?? '';
  const board = async (): Promise<Board> => (await (await fetch(`${url}/board`)).json()) as Board;
  const counts = async (): Promise<Record<string, number>> =>
    Object.fromEntries((await board()).counts.map(({ name, value }) => [name, value]));
  expect(await (await fetch(url)).text()).toContain('/board.js');
  expect((await fetch(`${url}/console/`)).status).toBe(200);
  expect(await (await fetch(`${url}/console/metrics`)).text()).toMatch(/^outbox_pending 0$/m);
  expect(await counts()).toMatchObject({ Invoices: 0, 'Dead letters': 0 });

  const [setUp, issue, poison, deploy, replay] = (await board()).commands.map(({ command }) => command);
  const path = [dirname(process.execPath), process.env['PATH']].join(':');
  const typed = async (...lines: (string | undefined)[]): Promise<string> => {
    const options = { cwd: ROOT, env: { ...process.env, PATH: path, DATABASE_URL: '' } };
    return (await promisify(execFile)('bash', ['-euc', [setUp, ...lines].join('\n')], options)).stdout;
  };
  await typed(issue);
  const event = (await typed(poison)).trim();
  await expect.poll(counts).toMatchObject({ Invoices: 2, Delivered: 1, 'Dead letters': 1 });
  expect((await board()).verdict).toBe('1 dead letter needs you.');
  expect(deploy).toBe('node examples/event-substrate/main.ts worker --generation 2');
  const databaseUrl = (await typed('echo $DATABASE_URL')).trim();
  const next = run('../event-substrate/main.ts', ['worker', '--generation', '2'], { DATABASE_URL: databaseUrl });
  await next.until(/is at work/);
  expect(await typed(`EVENT=${event}`, replay)).toContain('1 delivery will run again');
  await expect.poll(counts).toMatchObject({ Delivered: 2, 'Dead letters': 0, 'Booked twice': 0 });

  for (const { child, ended, output: said } of [next, program]) {
    child.kill('SIGINT');
    child.kill('SIGINT');
    expect(await ended, said()).toBe(0);
  }
});
