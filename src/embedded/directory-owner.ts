import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { HoldfastError } from '../kernel/error.ts';
import { processMark } from './process-identity.ts';

/** The right to use a data directory, held by one process at a time. */
export interface DirectoryOwner {
  /** Gives it back. */
  release(): void;
}

/**
 * Makes this process the owner of the directory that `file` stands for. What a process that died left behind is taken over.
 * Throws `EMBEDDED_IN_USE` while another one lives.
 */
export function ownDirectory(file: string, dataDir: string): DirectoryOwner {
  const mine = `${process.pid} ${processMark(process.pid) ?? ''}\n`;
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, mine);
  try {
    // Linked, not written: the file is there with its content or not at all.
    while (!isLinked(draft, file)) removeIfDead(file, dataDir);
  } finally {
    rmSync(draft, { force: true });
  }
  return {
    release: () => {
      if (read(file) === mine) rmSync(file, { force: true });
    },
  };
}

function isLinked(draft: string, file: string): boolean {
  try {
    linkSync(draft, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function removeIfDead(file: string, dataDir: string): void {
  const owner = read(file);
  const [pid = '', mark = ''] = owner.trim().split(' ');
  if (owner !== '' && processMark(Number(pid)) === mark) {
    throw new HoldfastError('EMBEDDED_IN_USE', { dataDir, pid: Number(pid) });
  }
  // Of two that see the dead owner, one gets to rename its file.
  const grave = `${file}.${process.pid}.dead`;
  try {
    renameSync(file, grave);
  } catch {
    return;
  }
  // It may have been the other one's new file: then it goes back.
  if (read(grave) !== owner) isLinked(grave, file);
  rmSync(grave, { force: true });
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
