import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

const EXAMPLE = fileURLToPath(new URL('../../examples/agent-chat/', import.meta.url));

/** A program of the example that runs, and all that it writes. */
export interface Program {
  readonly child: ChildProcess;
  /** Everything written so far. */
  readonly output: () => string;
  /** Resolves with the whole output as soon as it matches. Rejects if the program ends before it does. */
  until(pattern: RegExp): Promise<string>;
  /** Its exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals | null>;
}

/** Runs one of the example's files with this Node. It ends with the test at the latest. */
export function run(file: string, args: readonly string[] = [], env: NodeJS.ProcessEnv = {}): Program {
  return watch(spawn(process.execPath, [EXAMPLE + file, ...args], { env: { ...process.env, ...env }, stdio: 'pipe' }));
}

/** The same behind a pseudo-terminal of 120 columns, so that the program believes that a person sits there. */
export function runOnTerminal(file: string, args: readonly string[]): Program {
  const command = [process.execPath, EXAMPLE + file, ...args];
  const quoted = command.map((word) => `'${word}'`).join(' ');
  const line = `stty cols 120; exec ${quoted}`;
  // The two families of `script` take the command at different places.
  const scriptArgs =
    process.platform === 'darwin' ? ['-q', '/dev/null', 'sh', '-c', line] : ['-qefc', line, '/dev/null'];
  const { NO_COLOR: _, ...env } = process.env;
  return watch(spawn('script', scriptArgs, { env: { ...env, TERM: 'xterm-256color' }, stdio: 'pipe' }));
}

function watch(child: ChildProcess): Program {
  let output = '';
  const listeners = new Set<() => void>();
  const ended = new Promise<number | NodeJS.Signals | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve(code ?? signal));
  });
  const add = (data: Buffer): void => {
    output += data.toString('utf8');
    for (const listener of listeners) listener();
  };
  child.stdout?.on('data', add);
  child.stderr?.on('data', add);
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  return {
    child,
    output: () => output,
    ended,
    until: (pattern) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (pattern.test(output)) resolve(output);
        };
        listeners.add(look);
        look();
        void ended.then((code) => reject(new Error(`ended with ${code} before ${pattern}:\n${output}`)), reject);
      }),
  };
}
