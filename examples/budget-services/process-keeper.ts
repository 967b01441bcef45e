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

/** Keeps programs running: one that dies is started again. What they write goes to the standard output, each line with its name. */
export class ProcessKeeper {
  readonly #env: NodeJS.ProcessEnv;
  readonly #children = new Map<string, ChildProcess>();
  #isStopping = false;

  constructor(env: NodeJS.ProcessEnv) {
    this.#env = env;
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
    this.#children.set(kept.name, child);
    let wasReady = false;
    return new Promise((resolve, reject) => {
      const tell = (line: string): void => {
        console.log(`${kept.name.padEnd(13)} ${line}`);
        if (kept.ready.test(line)) {
          console.log(`${kept.name.padEnd(13)} is process ${child.pid}`);
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

  /** Lets all of them end. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    const alive = [...this.#children.values()].filter(
      ({ exitCode, signalCode }) => exitCode === null && signalCode === null,
    );
    for (const child of alive) child.kill('SIGTERM');
    await Promise.all(alive.map((child) => once(child, 'close')));
  }

  #startAgain(kept: Kept, ended: string | number): void {
    if (this.#isStopping) return;
    console.log(`${kept.name.padEnd(13)} ended (${ended}); starting it again`);
    setTimeout(() => {
      if (!this.#isStopping) this.start(kept).catch((error: Error) => this.#startAgain(kept, error.message));
    }, PAUSE_MS);
  }
}
