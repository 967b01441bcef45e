import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

/** The program as it is published. */
const BIN: string = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));

/** What the program said, and how it ended. */
export interface Said {
  readonly code: number | NodeJS.Signals | null;
  readonly out: string;
  readonly err: string;
}

/** Where and with what it runs. */
export interface RunOptions {
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  readonly bin?: string;
}

/** A run that goes on. */
export interface Running {
  readonly child: ChildProcess;
  /** All that it has said so far, both streams. */
  readonly output: () => string;
  /** Resolves when its output matches; rejects if it ends before. */
  until(pattern: RegExp): Promise<void>;
  readonly ended: Promise<Said>;
}

/** Starts the program. It ends with the test at the latest. */
export function startHoldfast(args: readonly string[], { env, cwd, bin = BIN }: RunOptions = {}): Running {
  return watch(spawn(process.execPath, [bin, ...args], { cwd, env: { ...cleanEnv(), ...env }, stdio: 'pipe' }));
}

/** Runs the program to its end. Its standard input is no terminal and empty. */
export async function runHoldfast(args: readonly string[], options: RunOptions = {}): Promise<Said> {
  const running = startHoldfast(args, options);
  running.child.stdin?.end();
  return running.ended;
}

/** The same behind a terminal of so many columns, at which a person could type. */
export function startOnTerminal(args: readonly string[], { env, cwd }: RunOptions = {}, columns = 100): Running {
  const quoted = [process.execPath, BIN, ...args].map((word) => `'${word.replaceAll(`'`, `'\\''`)}'`).join(' ');
  const line = `stty cols ${columns}; exec ${quoted}`;
  // The two families of `script` take the command at different places.
  const scriptArgs =
    process.platform === 'darwin' ? ['-q', '/dev/null', 'sh', '-c', line] : ['-qefc', line, '/dev/null'];
  const clean = { ...cleanEnv(), TERM: 'xterm-256color', ...env };
  return watch(spawn('script', scriptArgs, { cwd, env: clean, stdio: 'pipe' }));
}

/** Nothing of the machine's own settings decides what the program does. */
function cleanEnv(): NodeJS.ProcessEnv {
  const ours = Object.entries(process.env).filter(
    ([name]) => !/^(?:PG|HOLDFAST_|DATABASE_URL|REDIS_URL|NO_COLOR|FORCE_COLOR)/.test(name),
  );
  return Object.fromEntries(ours);
}

function watch(child: ChildProcess): Running {
  let [out, err, all] = ['', '', ''];
  const listeners = new Set<() => void>();
  child.stdout?.on('data', (data: Buffer) => add(data, (text) => (out += text)));
  child.stderr?.on('data', (data: Buffer) => add(data, (text) => (err += text)));
  const add = (data: Buffer, keep: (text: string) => void): void => {
    keep(data.toString('utf8'));
    all += data.toString('utf8');
    for (const listener of listeners) listener();
  };
  const ended = new Promise<Said>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve({ code: code ?? signal, out, err }));
  });
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  return {
    child,
    output: () => all,
    ended,
    until: (pattern) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (pattern.test(all)) resolve();
        };
        listeners.add(look);
        look();
        void ended.then(({ code }) => reject(new Error(`ended with ${code} before ${pattern}:\n${all}`)), reject);
      }),
  };
}
