import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { installDebianPackage } from './find-server.ts';
import { cacheFolder, renameUnlessThere } from './program-cache.ts';
import type { TestRun } from './service.ts';

const exec = promisify(execFile);

/** What pip fetches: exact versions, with all they depend on, and the folder of the cache they are in. */
export interface PythonPackages {
  readonly keptAs: string;
  readonly versions: readonly string[];
}

/** Installs Python and pip where they are missing. */
export async function installPip(run: TestRun): Promise<void> {
  const hasPip = await exec('python3', ['-m', 'pip', '--version']).then(
    () => true,
    () => false,
  );
  if (!hasPip) await installDebianPackage(run, 'python3-pip');
}

/** The folder with these packages, fetched from PyPI once and kept from run to run. Python or pip is installed where it is missing. */
export async function fetchPackages(run: TestRun, { keptAs, versions }: PythonPackages): Promise<string> {
  const cache = cacheFolder();
  const folder = join(cache, keptAs);
  await installPip(run);
  if (existsSync(folder)) return folder;
  run.announce(`Fetching ${versions[0]} into ${cache} with pip …`);
  mkdirSync(cache, { recursive: true });
  const work = mkdtempSync(join(cache, 'fetching-'));
  try {
    const quietly = ['--quiet', '--no-cache-dir', '--disable-pip-version-check'];
    // What a package depends on is named too: another version of it tomorrow would be another test.
    const install = ['-m', 'pip', 'install', ...quietly, '--no-deps', '--only-binary=:all:', '--target'];
    await exec('python3', [...install, join(work, 'packages'), ...versions], { timeout: 600_000 });
    renameUnlessThere(join(work, 'packages'), folder);
    return folder;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
