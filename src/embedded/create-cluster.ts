import { spawn } from 'node:child_process';
import { chownSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { HoldfastError } from '../kernel/error.ts';
import { lastLines, type ServerPlan } from './start-server.ts';
import type { ServerUser } from './server-user.ts';

/** What the programs are told about where to work. */
type ProgramPlan = Pick<ServerPlan, 'programs' | 'launch' | 'folder'>;

const MOST_MS = 120_000;

/** Makes a new data directory, whole or not at all, whose only user is `postgres` with this password. */
export async function createCluster(plan: ProgramPlan, user: ServerUser | undefined, password: string): Promise<void> {
  const draft = `${plan.folder}.new`;
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { mode: 0o700 });
  if (user !== undefined) chownSync(draft, user.uid, user.gid);
  // Words sort by their bytes, the same on every machine; upper and lower case are known beyond English.
  const ctype = process.platform === 'darwin' ? 'en_US.UTF-8' : 'C.UTF-8';
  const names = ['-U', 'postgres', '--auth=reject', '--encoding=UTF8', '--locale=C', `--lc-ctype=${ctype}`];
  await runProgram(plan, 'initdb', ['-D', draft, ...names]);
  writeFileSync(join(draft, 'pg_hba.conf'), 'host all all 127.0.0.1/32 scram-sha-256\n');
  await setPassword({ ...plan, folder: draft }, password);
  renameSync(draft, plan.folder);
}

/** Sets the password while no server runs on the directory. */
export async function setPassword(plan: ProgramPlan, password: string): Promise<void> {
  const statement = `alter role postgres password '${password}'\n`;
  await runProgram(plan, 'postgres', ['--single', '-D', plan.folder, 'postgres'], statement);
}

async function runProgram({ programs, launch }: ProgramPlan, name: string, args: string[], input = ''): Promise<void> {
  const command = [...launch.prefix, join(programs.bin, name), ...args];
  const child = spawn(command[0] ?? '', command.slice(1), {
    cwd: '/',
    env: { ...process.env, ...programs.env, LC_MESSAGES: 'C' },
    stdio: 'pipe',
    timeout: MOST_MS,
    ...launch.as,
  });
  let said = '';
  child.stdout.on('data', (data: Buffer) => (said += data.toString('utf8')));
  child.stderr.on('data', (data: Buffer) => (said += data.toString('utf8')));
  // A program that ends early does not read what it was given; its exit code says enough.
  child.stdin.on('error', () => undefined).end(input);
  const code = await new Promise<number | null>((resolve) => {
    child.once('error', (error) => {
      said += error.message;
      resolve(null);
    });
    child.once('close', resolve);
  });
  // In single mode a statement that failed does not change the exit code.
  if (code === 0 && !/\b(ERROR|FATAL):/.test(said)) return;
  throw new HoldfastError('EMBEDDED_START_FAILED', { step: name, problem: lastLines(said) });
}
