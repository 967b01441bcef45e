import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { onPath } from '../find-server.ts';
import { cacheFolder, renameUnlessThere } from '../program-cache.ts';
import type { Service, TestRun } from '../service.ts';

const exec = promisify(execFile);

/** Prometheus and promtool. Its "URL" is the folder of the two programs. */
export const prometheus: Service = {
  howTo: 'install prometheus (its programs prometheus and promtool must be on the PATH)',
  obtain: async (run) => {
    const found = onPath('promtool');
    if (found !== undefined && onPath('prometheus') !== undefined) return dirname(found);
    const folder = join(cacheFolder(), 'prometheus');
    if (!existsSync(folder)) await unpack(run, folder);
    return join(folder, 'usr', 'bin');
  },
};

/** Takes the programs out of Debian's package. Installed, it would bring eleven others and start a server on its usual port. */
async function unpack(run: TestRun, folder: string): Promise<void> {
  if (onPath('apt-get') === undefined)
    throw new Error('it is not on this machine, and Debian has a package of it only');
  const cache = dirname(folder);
  run.announce(`Fetching prometheus into ${cache} with apt-get …`);
  mkdirSync(cache, { recursive: true });
  const work = mkdtempSync(join(cache, 'fetching-'));
  try {
    const download = (): Promise<unknown> => exec('apt-get', ['download', 'prometheus'], { cwd: work });
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
