import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, readlinkSync, realpathSync } from 'node:fs';

/**
 * What tells a process from a later one with the same id: its start time. `undefined` when there is no such process, or only
 * its shell that nobody has collected.
 */
export function processMark(pid: number): string | undefined {
  if (existsSync('/proc/self/stat')) {
    try {
      // The name in brackets may hold anything, brackets too; the fields that follow it do not.
      const [state, ...fields] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
      return state === 'Z' ? undefined : fields[18];
    } catch {
      return undefined;
    }
  }
  return psOf(pid, 'lstart=');
}

/** True if this process is a PostgreSQL server on that data directory. */
export function isServerOn(pid: number, dataDirectory: string): boolean {
  if (processMark(pid) === undefined) return false;
  if (existsSync('/proc/self/cwd')) {
    try {
      return readlinkSync(`/proc/${pid}/cwd`) === realpathSync(dataDirectory);
    } catch {
      return false;
    }
  }
  return psOf(pid, 'command=')?.includes(dataDirectory) ?? false;
}

function psOf(pid: number, column: string): string | undefined {
  try {
    const said = execFileSync('ps', ['-o', column, '-p', String(pid)], { encoding: 'utf8', timeout: 5_000 }).trim();
    return said === '' ? undefined : said;
  } catch {
    return undefined;
  }
}
