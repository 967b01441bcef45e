import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { BenchDatabase } from './bench-database.ts';
import type { WorkerReport } from './worker-process.ts';

const SCRIPT = fileURLToPath(new URL('worker-process.ts', import.meta.url));
const NOTHING_YET: WorkerReport = { started: 0, firstAtMs: 0, maxRssMb: 0, doubled: 0, missing: 0 };

/** A worker in a process of its own. */
export interface WorkerChild {
  /** What it told last, some 20 ms ago. */
  readonly last: WorkerReport;
  /** From now on it counts which of the totals 0 … `expected` - 1 it has seen. */
  expect(expected: number): void;
  /** Asks it to stop, and gives its last words. */
  stop(): Promise<WorkerReport>;
}

export function startWorker({ url }: BenchDatabase): WorkerChild {
  const child = fork(SCRIPT, [url], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  let last = NOTHING_YET;
  child.on('message', (message) => (last = message as WorkerReport));
  return {
    get last() {
      if (child.exitCode !== null) throw new Error(`the worker ended with code ${child.exitCode}`);
      return last;
    },
    expect: (expected) => void child.send({ expected }),
    async stop() {
      child.send({ stop: true });
      if (child.exitCode === null) await once(child, 'exit');
      return last;
    },
  };
}
