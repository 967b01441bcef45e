import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const MOST_SAID = 2_000;

/** The programs beside this file. */
export type DrillProgram = 'worker-process' | 'api-process' | 'sender-process' | 'client-process';

/** A process of a drill. */
export interface DrillChild {
  readonly process: ChildProcess;
  /** Resolves when it has ended, in whichever way. */
  readonly ended: Promise<void>;
  /** The end of what it said on its standard error. */
  said(): string;
}

const alive = new Set<ChildProcess>();

/** For a drill that ends without having put anything right: one that stands still would stay for ever. */
function killAll(): void {
  for (const child of alive) child.kill('SIGKILL');
}

/** Starts one of the programs beside this file, in a group of its own: a Ctrl-C in the terminal is for the drill alone. */
export function startChild(program: DrillProgram, options: object, cwd: string): DrillChild {
  const ending = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const child = fork(fileURLToPath(new URL(`${program}.${ending}`, import.meta.url)), [], {
    cwd,
    execArgv: [],
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe', 'ipc', 'pipe'],
  });
  if (alive.size === 0) process.once('exit', killAll);
  alive.add(child);
  let said = '';
  child.stderr?.on('data', (data: Buffer) => (said = (said + data.toString('utf8')).slice(-MOST_SAID)));
  const ended = new Promise<void>((resolve) => {
    const over = (): void => {
      if (alive.delete(child) && alive.size === 0) process.off('exit', killAll);
      resolve();
    };
    // One that cannot be started, or has ended before it read its options, tells that by its end.
    child.once('exit', over).on('error', over);
  });
  child.send(options, () => undefined);
  return { process: child, ended, said: () => said.trim() };
}
