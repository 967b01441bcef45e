import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { freshFolder } from '../support/private-server.ts';
import { rmSync } from 'node:fs';
import { Journal } from './journal.ts';
import type { SenderGrant, SenderOptions, SenderReport } from './sender-process.ts';
import type { WorkerOptions } from './worker-process.ts';

/** A worker in a process of its own, and what it wrote down. */
export interface Member {
  readonly name: string;
  readonly process: ChildProcess;
  readonly journal: Journal;
  /** Resolves with the exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals>;
}

/** The workers of one test. All of them, and their journals, are gone when the test ends. */
export class Crew {
  /** Everyone who ever worked. */
  readonly all: Member[] = [];
  readonly #options: Omit<WorkerOptions, 'name' | 'journal'>;
  readonly #folder: string;

  constructor(options: Omit<WorkerOptions, 'name' | 'journal'>) {
    this.#options = options;
    this.#folder = freshFolder('crash-journals');
    onTestFinished(async () => {
      for (const { process } of this.all) process.kill('SIGKILL');
      await Promise.all(this.all.map(({ ended }) => ended));
      rmSync(this.#folder, { recursive: true, force: true });
    });
  }

  /** Starts a worker, or another program that takes the same options. It is at work as soon as its journal says `ready`. */
  hire(changes: Partial<WorkerOptions> = {}, program = 'worker-process.ts'): Member {
    const name = `w${this.all.length + 1}`;
    const journal = new Journal(`${this.#folder}/${name}`);
    const options: WorkerOptions = { ...this.#options, name, journal: journal.file, ...changes };
    const child = start(program, options);
    const ended = once(child, 'exit').then(([code, signal]) => (signal ?? code) as number | NodeJS.Signals);
    const member = { name, process: child, journal, ended };
    this.all.push(member);
    return member;
  }

  /** Those who ended by themselves, and not by a signal of the test. */
  get fallen(): string[] {
    return this.all.filter(({ process }) => process.exitCode !== null).map(({ name }) => name);
  }

  /** Counted over all journals, those of the dead too. */
  count(word: keyof Journal['counts']): number {
    return this.all.reduce((sum, { journal }) => sum + journal.look().counts[word], 0);
  }
}

/** The sender in a process of its own. */
export interface Sender {
  readonly report: SenderReport;
  /** It may send until it has committed that many in all. */
  grant(upTo: number): void;
}

export function startSender(options: SenderOptions): Sender {
  const child = start('sender-process.ts', options);
  onTestFinished(() => void child.kill('SIGKILL'));
  let report: SenderReport = { committed: 0, rolledBack: 0 };
  child.on('message', (message) => (report = message as SenderReport));
  return {
    get report() {
      if (child.exitCode !== null) throw new Error(`the sender ended with code ${child.exitCode}`);
      return report;
    },
    grant: (upTo) => void child.send({ upTo } satisfies SenderGrant),
  };
}

function start(script: string, options: unknown): ChildProcess {
  const file = fileURLToPath(new URL(script, import.meta.url));
  return fork(file, [JSON.stringify(options)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    execArgv: [],
  });
}

// Only ends what hangs, on a slow machine too: nothing is concluded from how long it takes.
const IN_VAIN_MS = 200_000;

/** Asks again and again until the answer is yes; throws, with what it waited for and what it sees instead, when that takes too long. */
export async function until(
  what: string,
  question: () => Promise<boolean> | boolean,
  see?: () => Promise<string>,
): Promise<void> {
  const startedMs = performance.now();
  while (!(await question())) {
    if (performance.now() - startedMs > IN_VAIN_MS) {
      throw new Error(`waited ${IN_VAIN_MS} ms in vain until ${what}${see ? `: ${await see()}` : ''}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
