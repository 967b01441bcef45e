import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { HoldfastError } from '../kernel/error.ts';
import { createSleep } from '../kernel/sleep.ts';
import { systemEffects } from '../system/effects.ts';
import type { Programs } from './find-programs.ts';
import { freePort } from './free-port.ts';
import { clearStranger, readPostmaster, runningServer } from './postmaster-file.ts';
import { isServerOn } from './process-identity.ts';
import type { Launch } from './server-user.ts';

/** What it takes to start the server of one data directory. */
export interface ServerPlan {
  readonly programs: Programs;
  readonly launch: Launch;
  /** PostgreSQL's own data directory. */
  readonly folder: string;
  readonly log: string;
  readonly settings: Readonly<Record<string, string>>;
}

/** A server that takes connections. */
export interface RunningServer {
  readonly port: number;
  readonly pid: number;
  /** Ends sessions, writes a checkpoint, ends. */
  stop(): Promise<void>;
}

const sleep = createSleep(systemEffects);

const LOOK_EVERY_MS = 20;
// Recovery after a crash reads what was written since the last checkpoint: up to a gigabyte or two.
const READY_WITHIN_MS = 120_000;
const STOPPED_WITHIN_MS = 30_000;
const MOST_PORTS = 5;
const MAX_LOG_BYTES = 5_000_000;

// Compiling a plan pays for long queries over much data, and costs short ones up to a second.
const DEFAULTS = { jit: 'off' };

// On the command line, where no file can undo them. Everything that is acknowledged is on the disk.
const FIXED = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  lc_messages: 'C',
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
};

/** Starts the server on the wanted port, or on another when that is taken, and waits until it takes connections. */
export async function startServer(plan: ServerPlan, wantedPort: number | undefined): Promise<RunningServer> {
  let wanted = wantedPort;
  for (let tries = 1; ; tries++) {
    clearStranger(plan.folder);
    const port = await freePort(wanted);
    const logFrom = turnLog(plan.log);
    const child = spawnServer(plan, port);
    const ended = endOf(child);
    if (await isReady(child, ended, plan.folder)) return running(child, ended, port);
    // Somebody may have taken the port between our look and the server's.
    if ((await freePort(port)) === port || tries === MOST_PORTS) {
      const said = readFileSync(plan.log).subarray(logFrom).toString('utf8');
      throw new HoldfastError('EMBEDDED_START_FAILED', { step: 'postgres', problem: lastLines(said) });
    }
    wanted = undefined;
  }
}

/** Stops a server that outlived the process that had started it. */
export async function stopLeftOver(folder: string): Promise<void> {
  const pid = runningServer(folder);
  if (pid === undefined) return;
  const isGone = async (): Promise<void> => {
    while (isServerOn(pid, folder)) await sleep(LOOK_EVERY_MS);
  };
  await end((signal) => process.kill(pid, signal), isGone());
}

/** The end of what a program said, short enough for an error. Lines that only go on with another begin with a tab. */
export function lastLines(text: string): string {
  const lines = text.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('\t'));
  return lines.slice(-8).join('\n') || 'it said nothing';
}

function spawnServer({ programs, launch, folder, log, settings }: ServerPlan, port: number): ChildProcess {
  const flags = Object.entries({ ...DEFAULTS, ...settings, ...FIXED }).flatMap(([name, value]) => [
    '-c',
    `${name}=${value}`,
  ]);
  const command = [...launch.prefix, join(programs.bin, 'postgres'), '-D', folder, '-p', String(port), ...flags];
  const output = openSync(log, 'a', 0o600);
  try {
    const child = spawn(command[0] ?? '', command.slice(1), {
      cwd: '/',
      env: { ...process.env, ...programs.env },
      stdio: ['ignore', output, output],
      // In a group of its own: Ctrl-C in the terminal is for us, and we stop the server when we are done with it.
      detached: true,
      ...launch.as,
    });
    child.unref();
    return child;
  } finally {
    closeSync(output);
  }
}

function endOf(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.once('error', () => resolve());
    child.once('exit', () => resolve());
  });
}

async function isReady(child: ChildProcess, ended: Promise<void>, folder: string): Promise<boolean> {
  const until = systemEffects.monoMs() + READY_WITHIN_MS;
  let hasEnded = false;
  void ended.then(() => (hasEnded = true));
  while (!hasEnded) {
    const found = readPostmaster(folder);
    if (found?.isReady === true && found.pid === child.pid) return true;
    if (systemEffects.monoMs() > until) {
      child.kill('SIGQUIT');
      await ended;
      return false;
    }
    await sleep(LOOK_EVERY_MS);
  }
  return false;
}

function running(child: ChildProcess, ended: Promise<void>, port: number): RunningServer {
  // For a process that ends without having called stop.
  const onExit = (): void => void child.kill('SIGINT');
  process.once('exit', onExit);
  void ended.then(() => process.off('exit', onExit));
  const stop = async (): Promise<void> => {
    child.ref();
    await end((signal) => child.kill(signal), ended);
  };
  return { port, pid: child.pid ?? 0, stop };
}

/** "Fast" shutdown first; when that takes too long "immediate", after which the next start recovers. */
async function end(signal: (name: 'SIGINT' | 'SIGQUIT') => unknown, gone: Promise<void>): Promise<void> {
  signal('SIGINT');
  const late = systemEffects.setTimer(() => signal('SIGQUIT'), STOPPED_WITHIN_MS);
  await gone;
  systemEffects.clearTimer(late);
}

/** Puts a log that has grown aside, and tells where the next line will stand. */
function turnLog(log: string): number {
  if (!existsSync(log)) return 0;
  const { size } = statSync(log);
  if (size < MAX_LOG_BYTES) return size;
  renameSync(log, `${log}.old`);
  return 0;
}
