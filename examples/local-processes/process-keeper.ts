import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** A program to be kept running. */
export interface Kept {
  readonly name: string;
  /** Arguments of this Node: a file and what it is given. */
  readonly args: readonly string[];
  /** The line that says that it is ready. */
  readonly ready: RegExp;
}

const PAUSE_MS = 300;

/** A program that ended before it was ready; what it wrote says why. */
export class NotReadyError extends Error {}

/** Told each line that a program writes, with its name. */
export type OnLine = (name: string, line: string) => void;

interface Running {
  readonly kept: Kept;
  readonly child: ChildProcess;
}

/** Keeps programs running: one that dies is started again, unless it was killed here. */
export class ProcessKeeper {
  readonly #env: NodeJS.ProcessEnv;
  readonly #onLine: OnLine;
  readonly #running = new Map<string, Running>();
  readonly #down = new Set<string>();
  #isStopping = false;

  /** By default what they write goes to the standard output, each line with the program's name. */
  constructor(env: NodeJS.ProcessEnv, onLine: OnLine = (name, line) => console.log(`${name.padEnd(13)} ${line}`)) {
    this.#env = env;
    this.#onLine = onLine;
  }

  /** Resolves when it is ready. Rejects when it ends before. */
  start(kept: Kept): Promise<void> {
    const child = spawn(process.execPath, [...kept.args], {
      env: this.#env,
      // The channel tells it when this process is gone.
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      // Ctrl-C is for this process alone, which then asks the others to end, once.
      detached: true,
    });
    this.#running.set(kept.name, { kept, child });
    let wasReady = false;
    return new Promise((resolve, reject) => {
      const tell = (line: string): void => {
        this.#onLine(kept.name, line);
        if (!wasReady && kept.ready.test(line)) {
          this.#onLine(kept.name, `is process ${child.pid}`);
          wasReady = true;
          resolve();
        }
      };
      for (const stream of [child.stdout, child.stderr])
        if (stream) createInterface({ input: stream }).on('line', tell);
      child.once('close', (code, signal) => {
        if (wasReady) this.#startAgain(kept, code ?? signal ?? 'no code');
        else reject(new NotReadyError(`${kept.name} ended with ${code ?? signal} before it was ready; see above`));
      });
    });
  }

  /** The number of the process that runs now. */
  pidOf(name: string): number | undefined {
    const child = this.#running.get(name)?.child;
    return child !== undefined && isAlive(child) ? child.pid : undefined;
  }

  /** Ends one with SIGKILL; it stays down until `revive`. */
  async kill(name: string): Promise<void> {
    this.#down.add(name);
    const child = this.#running.get(name)?.child;
    if (child === undefined || !isAlive(child)) return;
    const closed = once(child, 'close');
    child.kill('SIGKILL');
    await closed;
  }

  /** Starts one again that was killed; resolves when it is ready. */
  async revive(name: string): Promise<void> {
    this.#down.delete(name);
    const running = this.#running.get(name);
    if (running !== undefined && !isAlive(running.child)) await this.start(running.kept);
  }

  /** Lets all of them end. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    const alive = [...this.#running.values()].map(({ child }) => child).filter(isAlive);
    for (const child of alive) {
      child.kill('SIGTERM');
      // One that was frozen would not see it.
      child.kill('SIGCONT');
    }
    await Promise.all(alive.map((child) => once(child, 'close')));
  }

  #startAgain(kept: Kept, ended: string | number): void {
    if (this.#isStopping || this.#down.has(kept.name)) return;
    this.#onLine(kept.name, `ended (${ended}); starting it again`);
    setTimeout(() => {
      if (this.#isStopping || this.#down.has(kept.name)) return;
      this.start(kept).catch((error: Error) => this.#startAgain(kept, error.message));
    }, PAUSE_MS);
  }
}

function isAlive({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null;
}
