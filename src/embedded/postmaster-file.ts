import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isServerOn } from './process-identity.ts';

/** What a server says about itself in its data directory. */
export interface Postmaster {
  readonly pid: number;
  /** It takes connections. */
  readonly isReady: boolean;
}

// No system hands out this process id, so whoever asks for it hears that it is gone.
const NOBODY = 2 ** 31 - 2;

/** What `postmaster.pid` says; `undefined` when there is none, or it is being written. */
export function readPostmaster(dataFolder: string): Postmaster | undefined {
  const lines = linesOf(dataFolder);
  const pid = Number(lines?.[0]);
  return Number.isInteger(pid) && pid > 0 ? { pid, isReady: lines?.[7]?.trim() === 'ready' } : undefined;
}

/** The process id of a server that runs on the directory. */
export function runningServer(dataFolder: string): number | undefined {
  const pid = readPostmaster(dataFolder)?.pid;
  return pid !== undefined && isServerOn(pid, dataFolder) ? pid : undefined;
}

/**
 * Clears the name of a stranger: after a crash the process id in the file may belong to somebody else, and the server would
 * refuse to start. Only the id is changed: by the rest the server finds out whether sessions of the one that died still live.
 */
export function clearStranger(dataFolder: string): void {
  const found = readPostmaster(dataFolder);
  if (found === undefined || isServerOn(found.pid, dataFolder)) return;
  const [, ...rest] = linesOf(dataFolder) ?? [];
  writeFileSync(fileOf(dataFolder), [String(NOBODY), ...rest].join('\n'));
}

function linesOf(dataFolder: string): string[] | undefined {
  try {
    return readFileSync(fileOf(dataFolder), 'utf8').split('\n');
  } catch {
    return undefined;
  }
}

function fileOf(dataFolder: string): string {
  return join(dataFolder, 'postmaster.pid');
}
