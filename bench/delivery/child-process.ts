import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** A program of the bench that answers what it is asked. */
export interface Child<First> {
  /** What it told first. */
  readonly first: First;
  ask(what: string): Promise<unknown>;
  stop(): Promise<void>;
}

/** Starts a program beside this one and waits until it tells that it is ready. */
export async function startChild<First>(file: string, args: readonly string[]): Promise<Child<First>> {
  const path = fileURLToPath(new URL(file, import.meta.url));
  const child = fork(path, [...args], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const [first] = (await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(() => Promise.reject(new Error(`${file} did not start`))),
  ])) as [First];
  return {
    first,
    ask: async (what) => {
      const answered = once(child, 'message');
      child.send(what);
      return ((await answered) as [unknown])[0];
    },
    stop: async () => {
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/** The processor time a child tells, in milliseconds. */
export async function cpuMsOf(child: Child<unknown>): Promise<number> {
  const { user, system } = (await child.ask('cpu')) as NodeJS.CpuUsage;
  return (user + system) / 1_000;
}
