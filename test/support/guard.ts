// node guard.ts <plan>
//
// Owns one private server: runs the commands before it, the server, and the commands after it; then removes its folder.
// It goes on until the server ends or its standard input closes, which the system does for us however the test run ends.
import { spawn, type ChildProcess } from 'node:child_process';
import { openSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Command, PrivateServer } from './private-server.ts';

const plan = JSON.parse(process.argv[2] ?? '') as Omit<PrivateServer, 'probe'>;
const logFile = join(plan.folder, 'server.log');
const log = openSync(logFile, 'a');

let running: ChildProcess | undefined;
let stopping = false;
process.stdin.resume().once('close', stop);
process.once('SIGTERM', stop);
// Whoever read our messages may be gone before us.
process.stderr.on('error', () => {});

let failure: string | undefined;
try {
  for (const command of plan.before ?? []) if (!stopping) await run(command);
  if (plan.server !== undefined && !stopping) await run(plan.server);
  else if (!stopping) await new Promise<void>((resolve) => process.stdin.once('close', () => resolve()));
} catch (error) {
  failure = `${(error as Error).message}\n${readFileSync(logFile, 'utf8').trimEnd().split('\n').slice(-10).join('\n')}`;
}
for (const command of plan.after ?? []) await run(command).catch(() => {});
rmSync(plan.folder, { recursive: true, force: true });
if (failure !== undefined && !stopping) process.stderr.write(failure);
process.exitCode = stopping ? 0 : 1;
process.stdin.destroy();

/** Runs one command to its end; rejects if it failed and nobody asked for the end. */
async function run([program, ...args]: Command): Promise<void> {
  const child = spawn(program, args, {
    cwd: plan.folder,
    env: { ...process.env, ...plan.env },
    stdio: ['ignore', log, log],
  });
  running = child;
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      if (code === 0 || stopping) resolve();
      else reject(new Error(`${program} ended with ${signal ?? `code ${code}`}`));
    });
  });
  running = undefined;
}

function stop(): void {
  stopping = true;
  const child = running;
  if (child === undefined) return;
  child.kill(plan.stopSignal ?? 'SIGTERM');
  // A server that does not end when asked must not outlive the tests.
  setTimeout(() => child.kill('SIGKILL'), 15_000).unref();
}
