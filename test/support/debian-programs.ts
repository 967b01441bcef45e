import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { onPath } from './find-server.ts';
import { cacheFolder, renameUnlessThere } from './program-cache.ts';
import type { TestRun } from './service.ts';

const exec = promisify(execFile);

/** The files of a Debian package, in a folder of their own. Installed, some start a server on its usual port and bring others with them. */
export async function debianPrograms(run: TestRun, name: string): Promise<string> {
  const folder = join(cacheFolder(), name);
  if (!existsSync(folder)) await unpack(run, name, folder);
  return folder;
}

async function unpack(run: TestRun, name: string, folder: string): Promise<void> {
  if (onPath('apt-get') === undefined)
    throw new Error('it is not on this machine, and Debian has a package of it only');
  const cache = cacheFolder();
  run.announce(`Fetching ${name} into ${cache} with apt-get …`);
  mkdirSync(cache, { recursive: true });
  const work = mkdtempSync(join(cache, 'fetching-'));
  try {
    const download = (): Promise<unknown> => exec('apt-get', ['download', name], { cwd: work });
    // The list of packages may be old, or not there.
    await download().catch(() => exec('apt-get', ['-o', 'DPkg::Lock::Timeout=300', 'update']).then(download));
    const [file] = readdirSync(work);
    if (file === undefined) throw new Error('apt-get fetched nothing');
    await exec('dpkg-deb', ['-x', file, 'unpacked'], { cwd: work });
    renameUnlessThere(join(work, 'unpacked'), folder);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
