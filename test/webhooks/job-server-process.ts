import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { freePort } from '../support/private-server.ts';
import type { JobServerOptions } from './job-server.ts';

const PROGRAM = fileURLToPath(new URL('job-server.ts', import.meta.url));

/** A receiver of jobs in a process of its own, which is started again whenever it is killed. */
export class JobServerProcess {
  readonly url: string;
  /** How often it was killed so far. */
  kills = 0;
  readonly #options: JobServerOptions;
  #child: ChildProcess | undefined;
  #isStopped = false;

  private constructor(options: JobServerOptions) {
    this.#options = options;
    this.url = `http://127.0.0.1:${options.port}`;
  }

  /** Starts one that listens, and ends with the test. */
  static async start(options: Omit<JobServerOptions, 'port'>): Promise<JobServerProcess> {
    const server = new JobServerProcess({ ...options, port: await freePort() });
    onTestFinished(() => server.#stop());
    await server.#start();
    return server;
  }

  async #start(): Promise<void> {
    const child = spawn(process.execPath, [PROGRAM, JSON.stringify(this.#options)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.#child = child;
    child.once('exit', (code, signal) => {
      if (this.#isStopped) return;
      // Anything but the kill that was asked for is a fault of the receiver, and shows as nobody listening.
      if (signal !== 'SIGKILL') throw new Error(`the receiver ended with ${code ?? signal}`);
      this.kills++;
      void this.#start();
    });
    await once(createInterface({ input: child.stdout }), 'line');
  }

  async #stop(): Promise<void> {
    this.#isStopped = true;
    const ended = this.#child && once(this.#child, 'exit');
    this.#child?.kill('SIGKILL');
    await ended;
  }
}
