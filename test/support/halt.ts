import { execFileSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';

/** Stops a process where it is, as SIGSTOP does, and resolves when it stands: a signal takes its time with a process of many threads. */
export async function halt(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  while (!stateOf(pid).startsWith('T')) await sleep(5);
}

/** What a process is doing, as `ps` shows it. */
function stateOf(pid: number): string {
  return execFileSync('ps', ['-o', 'state=', '-p', String(pid)], { encoding: 'utf8' }).trim();
}
