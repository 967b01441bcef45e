import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished } from 'vitest';
import { type PageStep, patternOf } from './page-steps.ts';

const exec = promisify(execFile);
// Ends what waits for ever; judges nothing.
const STEP_MS = 100_000;
const PORT = 4747;
/** A command that only looks may be typed again until it shows what the page says. */
const LOOKS = /^npx holdfast (messages|dlq:peek|overview)\b[^\n]*$/;

/** Somebody with a shell who does what a page says: what one block sets is there in the next, and terminals stay open. */
export class Reader {
  readonly #folder: string;
  readonly #home: string;
  readonly #terminals = new Map<string, Terminal>();

  /** Begins in `folder`; `home` is kept apart from it, for what the shell remembers. */
  constructor(folder: string, home: string) {
    this.#home = home;
    this.#folder = folder;
  }

  async do(step: PageStep): Promise<void> {
    switch (step.kind) {
      case 'run':
        return this.#type(step.code, step.output);
      case 'save':
        return writeFileSync(join(this.#place(), step.file), step.code);
      case 'start': {
        // Somebody else on this machine may have the port of the page.
        const code = step.code.trim() + ((await isFree(PORT)) ? '' : ' --port 0');
        const terminal = new Terminal(code, this.#place(), this.#env());
        this.#terminals.set(step.terminal, terminal);
        return terminal.shows(/Serving/);
      }
      case 'see':
        return this.#terminal(step.terminal).shows(patternOf(step.output.replaceAll(String(PORT), '…')));
      case 'stop':
        return this.#terminal(step.terminal).interrupt();
      default:
        step satisfies never;
    }
  }

  async #type(code: string, output: string | undefined): Promise<void> {
    const kept = this.#kept();
    const script = `set -euo pipefail\n${existsSync(kept) ? `. '${kept}'` : ''}\n${code}\nexport -p > '${kept}'; pwd > '${kept}.pwd'\n`;
    const options = { cwd: this.#place(), env: this.#env(), timeout: STEP_MS };
    const look = async (): Promise<string> => (await exec('bash', ['-c', script], options)).stdout;
    const seen = await look();
    if (output === undefined) return;
    if (!LOOKS.test(code.trim())) return expect(seen).toMatch(patternOf(output));
    await expect.poll(look, { timeout: STEP_MS }).toMatch(patternOf(output));
  }

  #kept(): string {
    return join(this.#home, 'kept');
  }

  #place(): string {
    const file = `${this.#kept()}.pwd`;
    return existsSync(file) ? readFileSync(file, 'utf8').trim() : this.#folder;
  }

  #env(): NodeJS.ProcessEnv {
    const path = [dirname(process.execPath), process.env['PATH']].join(delimiter);
    // npm hands its settings on to children; a reader's shell has none of them. What was fetched before need not be fetched again.
    const own = Object.entries(process.env).filter(
      ([name]) => !/^(npm_|NODE_(ENV|OPTIONS)|VITEST|DATABASE_URL|HOLDFAST_)/.test(name),
    );
    return { ...Object.fromEntries(own), PATH: path, NO_COLOR: '1', npm_config_prefer_offline: 'true' };
  }

  #terminal(name: string): Terminal {
    const terminal = this.#terminals.get(name);
    if (terminal === undefined) throw new Error(`nothing was started in ${name}`);
    return terminal;
  }
}

/** A program in the foreground of a terminal. */
class Terminal {
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  #output = '';

  constructor(code: string, cwd: string, env: NodeJS.ProcessEnv) {
    // A group of its own: Ctrl-C reaches all that runs in a terminal.
    this.#child = spawn('bash', ['-c', code], { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#ended = new Promise((resolve) => void this.#child.once('close', resolve));
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.on('data', (chunk: Buffer) => (this.#output += chunk.toString()));
    }
    onTestFinished(async () => {
      this.#signal('SIGKILL');
      await this.#ended;
    });
  }

  async shows(pattern: RegExp): Promise<void> {
    await expect.poll(() => this.#output, { timeout: STEP_MS }).toMatch(pattern);
  }

  async interrupt(): Promise<void> {
    this.#signal('SIGINT');
    await this.#ended;
  }

  #signal(signal: NodeJS.Signals): void {
    const { pid, exitCode, signalCode } = this.#child;
    if (pid === undefined || exitCode !== null || signalCode !== null) return;
    process.kill(-pid, signal);
  }
}

async function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
